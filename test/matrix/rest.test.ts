import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROUTES } from '../../rest-facade/router.ts'
import { CREDENTIALS, type CredentialName, headersOf } from './credentials.ts'
import { AUDIENCES, REST_LINES, type RestLine, type RestRequest } from './rest-lines.ts'
import { CHAT, type Scene, startScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene()
})
afterAll(() => scene[Symbol.asyncDispose]())

interface Answer {
  status: number
  headers: Record<string, string>
  text: string
}

async function send(name: string, { path, body }: RestRequest, credential: CredentialName): Promise<Answer> {
  const response = await fetch(`${scene.server.baseUrl}${path}`, {
    method: name.split(' ')[0] ?? '',
    headers: { 'content-type': 'application/json', ...(await headersOf(credential, scene)) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() }
}

/** `served`, or the status with the code that a client sees. */
function verdictOf({ status, headers, text }: Answer): string {
  if (status < 400) return 'served'
  if (status === 402 && headers['payment-required'] !== undefined) return '402 payment'
  const { code } = JSON.parse(text) as { code?: string }
  return `${status} ${code}`
}

function expectedOf({ audience, served = 'served', missing }: RestLine): Record<string, string> {
  const expected: Record<string, string> = AUDIENCES[audience]
  const named = Object.entries(expected).map(([name, verdict]) => [name, verdict === 'served' ? served : verdict])
  // What a stranger is told about an object is compared whole, further down.
  const compared = missing === undefined ? [] : [['foreignAdmin', audience === 'admin' ? '400 INVALID_REQUEST' : '']]
  return Object.fromEntries([...named, ...compared.filter(([, verdict]) => verdict !== '')])
}

const known = ROUTES.map(({ method, path }) => `${method.toUpperCase()} ${path}`)

test('every route has its line, and every line its route', () => {
  expect(Object.keys(REST_LINES).toSorted()).toEqual(known.toSorted())
})

test('an admitted request leaves a trace, or the missing traces of rejected ones would prove nothing', async () => {
  const before = await scene.fingerprint()
  const paid = { path: '/chat/completions', body: CHAT }
  expect(verdictOf(await send('POST /chat/completions', paid, 'inference'))).toBe('served')
  expect(await scene.fingerprint()).not.toBe(before)
})

const lines = Object.entries(REST_LINES)

describe.each(lines)('%s', (name, line) => {
  const expected = expectedOf(line)
  const letThrough = (credential: CredentialName) => expected[credential] === (line.served ?? 'served')

  test('serves permitted callers, and rejects everybody else without a trace', async () => {
    const request = await line.request(scene)
    const before = await scene.fingerprint()
    const found: Partial<Record<CredentialName, string>> = {}
    for (const credential of CREDENTIALS.filter((credential) => !letThrough(credential))) {
      found[credential] = verdictOf(await send(name, request, credential))
    }
    expect(await scene.fingerprint()).toBe(before)
    for (const credential of CREDENTIALS.filter(letThrough)) {
      found[credential] = verdictOf(await send(name, await line.request(scene), credential))
    }
    expect(found).toEqual(expected)
  })

  test('reveals nothing of the account to anybody else', async () => {
    const request = await line.request(scene)
    const own = scene.ownTexts.filter((text) => !JSON.stringify(request).includes(text))
    for (const credential of CREDENTIALS.filter((credential) => !['inference', 'admin'].includes(credential))) {
      const { headers, text } = await send(name, request, credential)
      const answered = JSON.stringify(headers) + text
      expect(own.filter((secret) => answered.includes(secret))).toEqual([])
    }
  })
})

const withObjects = lines.filter(([, { missing }]) => missing !== undefined)

/** An answer without what differs between any two, and with the object's name taken out. */
function anonymous({ status, headers, text }: Answer, { path, body }: RestRequest): unknown {
  const { date, 'cf-ray': requestId, 'x-request-id': sameId, ...rest } = headers
  const kept = Object.entries(rest).filter(([header]) => !/^x-ratelimit-(remaining|reset)|^keep-alive$/.test(header))
  const ids = [path.split(/[/=]/).at(-1) ?? '', (body as { id?: string } | undefined)?.id ?? '']
  const hide = (whole: string) => ids.filter((id) => id !== '').reduce((said, id) => said.replaceAll(id, '<id>'), whole)
  expect([date, requestId]).toEqual([expect.any(String), expect.stringMatching(/^[0-9a-f]{32}$/)])
  expect(sameId).toBe(requestId)
  return { status, headers: kept.map(([header, value]) => [header, hide(value)]), text: hide(text) }
}

test.each(withObjects)('%s: treats an object of another account as missing', async (name, line) => {
  const stranger = line.audience === 'wallet' ? 'otherWallet' : 'foreignAdmin'
  const [foreign, missing] = [await line.request(scene), line.missing?.(scene) ?? { path: '' }]
  const about = async (request: RestRequest) => anonymous(await send(name, request, stranger), request)
  expect(await about(foreign)).toEqual(await about(missing))
})

test('an operator’s token opens the metrics, and nothing else does', async () => {
  const open: string[] = []
  for (const credential of CREDENTIALS) {
    const response = await fetch(`${scene.server.url}/metrics`, { headers: await headersOf(credential, scene) })
    if (response.ok) open.push(credential)
    else expect([credential, response.status]).toEqual([credential, 401])
  }
  expect(open).toEqual(['operator', 'namedOperator'])
})
