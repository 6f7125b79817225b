import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CREDENTIALS, type CredentialName, headersOf, verdicts } from './credentials.ts'
import { type Scene, startScene } from './scene.ts'
import { PROCEDURES, TRPC_LINES } from './trpc-lines.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene()
})
afterAll(() => scene[Symbol.asyncDispose]())

/** Whatever opens an account opens nothing here. */
const EXPECTED = verdicts('401 UNAUTHORIZED', { operator: 'served', namedOperator: 'served' })
const OUTSIDERS = CREDENTIALS.filter((credential) => EXPECTED[credential] !== 'served')

async function send(path: string, input: unknown, credential: CredentialName) {
  const isQuery = PROCEDURES[path]?._def.type === 'query'
  const text = input === undefined ? undefined : JSON.stringify(input)
  const query = isQuery && text !== undefined ? `?input=${encodeURIComponent(text)}` : ''
  const response = await fetch(`${scene.server.url}/trpc/${path}${query}`, {
    method: isQuery ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...(await headersOf(credential, scene)) },
    ...(isQuery || text === undefined ? {} : { body: text }),
  })
  return { status: response.status, text: await response.text() }
}

function verdictOf({ status, text }: { status: number; text: string }): string {
  if (status === 200) return 'served'
  const { error } = JSON.parse(text) as { error: { data: { code: string } } }
  return `${status} ${error.data.code}`
}

test('every procedure has its line, and every line its procedure', () => {
  expect(Object.keys(TRPC_LINES).toSorted()).toEqual(Object.keys(PROCEDURES).toSorted())
})

describe.each(Object.entries(TRPC_LINES))('%s', (path, inputOf) => {
  test('serves operators, and rejects everybody else without a trace or a word', async () => {
    const input = await inputOf(scene)
    const before = await scene.fingerprint()
    const found: Partial<Record<CredentialName, string>> = {}
    const said = new Set<string>()
    for (const credential of OUTSIDERS) {
      const answer = await send(path, input, credential)
      found[credential] = verdictOf(answer)
      said.add(answer.text.replace(/"requestId":"[0-9a-f]{32}"/, ''))
      const own = scene.ownTexts.filter((text) => !JSON.stringify(input ?? '').includes(text))
      expect(own.filter((text) => answer.text.includes(text))).toEqual([])
    }
    // Nobody learns from the refusal whether his token exists somewhere else.
    expect([...said]).toHaveLength(1)
    expect(await scene.fingerprint()).toBe(before)
    for (const credential of ['operator', 'namedOperator'] as const) {
      found[credential] = verdictOf(await send(path, await inputOf(scene), credential))
    }
    const served = path === 'payments.correct' ? '404 NOT_FOUND' : 'served'
    expect(found).toEqual({ ...EXPECTED, operator: served, namedOperator: served })
  })
})

test('a batch is rejected call by call', async () => {
  const paths = 'accounts.list,platform.verify'
  for (const credential of OUTSIDERS) {
    const response = await fetch(`${scene.server.url}/trpc/${paths}?batch=1&input=${encodeURIComponent('{}')}`, {
      headers: await headersOf(credential, scene),
    })
    const answers = (await response.json()) as { error?: { data: { code: string } } }[]
    expect(answers.map(({ error }) => error?.data.code)).toEqual(['UNAUTHORIZED', 'UNAUTHORIZED'])
  }
})
