import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createOperatorClient, type OperatorClient } from '../../../client/cli/operator-client.ts'
import { runCli } from '../../../client/cli/run-cli.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../../support/app.ts'

let server: TestApp
let client: OperatorClient
let accountId: string
let adminKey: string

beforeAll(async () => {
  server = await startTestApp()
  client = createOperatorClient(server.url, OPERATOR_TOKEN)
})
afterAll(() => server.close())
beforeEach(async () => {
  ;({ accountId, adminKey } = await server.createAccount({ tier: 'standard' }))
})

async function run(...args: string[]) {
  let stdout = ''
  let stderr = ''
  const streams = { stdout: (text: string) => void (stdout += text), stderr: (text: string) => void (stderr += text) }
  const env = { serverUrl: server.url, operatorToken: OPERATOR_TOKEN, dataDir: '/nowhere' }
  const exitCode = await runCli(['limits', ...args], env, streams)
  return { exitCode, stdout, stderr, json: () => JSON.parse(stdout) }
}

function chat(key: string) {
  return fetch(`${server.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'hi' }] }),
  })
}

test('set, show and clear change what the limiter does with the next request', async () => {
  const set = await run(
    'set',
    accountId,
    'text.XS.requestsPerMinute=1',
    'rpc.creditsPer24Hours=5',
    '--reason',
    'x',
    '--json',
  )
  expect(set).toMatchObject({ exitCode: 0, stderr: '' })
  const account = { text: { XS: { requestsPerMinute: 1 } }, rpc: { creditsPer24Hours: 5 } }
  expect(set.json()).toMatchObject({
    tier: 'standard',
    account,
    keys: [],
    inForce: { image: { requestsPerMinute: 20 } },
  })
  expect([(await chat(adminKey)).status, (await chat(adminKey)).status]).toEqual([200, 429])
  const { stdout } = await run('show', accountId)
  expect(stdout).toMatch(/text\.XS\.requestsPerMinute +1 {2}\(set for this account\)\n/)
  expect(stdout).toMatch(/text\.XS\.tokensPerMinute +1000000\n/)
  expect((await run('clear', accountId, '--reason', 'over', '--json')).json()).toMatchObject({ account: null })
  expect((await chat(adminKey)).status).toBe(200)
})

test('the limit commands with --key change one key', async () => {
  const [key] = await client.keys.list.query({ accountId })
  const keyId = key?.keyId ?? ''
  await run('set', accountId, 'text.XS.requestsPerMinute=1', '--key', keyId, '--reason', 'x')
  const answers = [await chat(adminKey), await chat(adminKey)]
  expect(answers.map(({ status, headers }) => [status, headers.get('x-ratelimit-type')])).toEqual([
    [200, 'api_key'],
    [429, 'api_key'],
  ])
  expect((await run('show', accountId)).stdout).toContain(`key ${keyId} text.XS.requestsPerMinute`)
  expect((await run('clear', accountId, '--key', keyId, '--reason', 'x', '--json')).json()).toMatchObject({ keys: [] })
})

test('rejections lists those of one account or of all, newest first, over all pages', async () => {
  const stranger = await server.createAccount()
  const { refusals } = server.app.services.limits
  for (let index = 0; index < 50; index++) {
    for (const id of [accountId, stranger.accountId]) {
      refusals.record({
        accountId: id,
        apiKeyId: null,
        subject: `model-${index}`,
        rateLimitTier: 'M',
        rateLimitType: 'TPM',
      })
    }
  }
  const mine = (await run('refusals', accountId, '--json')).json()
  expect(mine).toHaveLength(50)
  expect(mine[0]).toEqual({
    refusalId: expect.any(String),
    accountId,
    keyId: null,
    subject: expect.stringMatching(/^model-/),
    rateLimitTier: 'M',
    rateLimitType: 'TPM',
    at: expect.any(String),
  })
  const all = (await run('refusals', '--limit', '120', '--json')).json()
  expect(all.length).toBeGreaterThanOrEqual(100)
  expect(new Set(all.map((row: { refusalId: string }) => row.refusalId)).size).toBe(all.length)
  expect((await run('refusals', accountId, '--limit', '2')).stdout.split('\n')).toHaveLength(4)
})

test.each([
  [['set', 'nobody', 'image.requestsPerMinute=5', '--reason', 'x'], 1, 'The account nobody does not exist'],
  [['set', 'nobody', 'image.tokensPerMinute=5', '--reason', 'x'], 1, 'limits.image'],
  [['set', 'nobody', 'image.requestsPerMinute=0', '--reason', 'x'], 1, 'limits.image.requestsPerMinute'],
  [['set', 'nobody', 'image', '--reason', 'x'], 2, 'name=number'],
  [['set', 'nobody', 'image.requestsPerMinute=5'], 2, '--reason'],
  [['clear', 'nobody', '--reason', 'x'], 1, 'The account nobody does not exist'],
  [['refusals', '--limit', '0'], 2, 'whole number'],
])('%j is rejected with a sentence that names the fault', async (args, exitCode, sentence) => {
  const refused = await run(...args)
  expect(refused).toMatchObject({ exitCode, stdout: '' })
  expect(refused.stderr).toContain(sentence)
})
