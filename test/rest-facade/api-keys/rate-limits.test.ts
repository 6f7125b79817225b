import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp, testModels } from '../../support/app.ts'
import { createFakeClock } from '../../support/fake-clock.ts'

const clock = createFakeClock('2026-01-15T12:00:00.000Z')
const MODELS = [
  ...testModels(),
  { id: 'painter', type: 'image', providers: [{ id: 'main', model: 'p' }], name: 'Painter' },
  { id: 'speaker', type: 'tts', providers: [{ id: 'main', model: 's' }], name: 'Speaker' },
  { id: 'film', type: 'video', providers: [{ id: 'main', model: 'f' }], name: 'Film' },
]

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({
    file: { models: MODELS, rpc: { networks: { 'ethereum-mainnet': { upstreams: [{ url: 'http://127.0.0.1:9' }] } } } },
    overrides: { clock },
  })
})
afterAll(() => app.close())

async function get(path: string, key: string) {
  const response = await fetch(`${app.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

function chat(key: string, body: object = {}) {
  return fetch(`${app.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'hi' }], ...body }),
  })
}

async function createKey(accountId: string, limits: { usdNano?: bigint; diemNano?: bigint } = {}) {
  const { key, secret } = await app.app.services.access.apiKeys.createForAccount(accountId, {
    type: 'INFERENCE',
    description: 'app',
    limits: { usdNano: null, diemNano: null, ...limits },
    limitPeriod: 'EPOCH',
    modelPrivacy: 'ALL',
    expiresAt: null,
  })
  return { keyId: key.id, secret }
}

const rpm = (apiModelId: string, amount: number) => ({ apiModelId, rateLimits: [{ type: 'RPM', amount }] })
const text = (apiModelId: string, requests: number, tokens: number) => ({
  apiModelId,
  rateLimits: [
    { type: 'RPM', amount: requests },
    { type: 'TPM', amount: tokens },
  ],
})

describe('GET /api_keys/rate_limits', () => {
  test('has both balances in its headers, with zero for a currency that the account never used', async () => {
    const { accountId } = await app.createAccount()
    const { secret } = await createKey(accountId)
    const { headers } = await get('/api_keys/rate_limits', secret)
    expect([headers.get('x-service-balance-usd'), headers.get('x-service-balance-diem')]).toEqual(['1', '0'])
  })

  test("returns the limiter's own numbers, the balances and the expiry, and nothing else", async () => {
    const { accountId } = await app.createAccount({ tier: 'standard' })
    const { secret } = await createKey(accountId)
    const { status, body } = await get('/api_keys/rate_limits', secret)
    expect(status).toBe(200)
    expect(body).toEqual({
      data: {
        accessPermitted: true,
        apiTier: { id: 'standard', isCharged: true },
        balances: { USD: 1 },
        keyExpiration: null,
        nextEpochBegins: '2026-01-16T00:00:00.000Z',
        rateLimits: [
          text('test-model', 500, 1_000_000),
          text('anonymous-model', 50, 750_000),
          rpm('test-embedding', 500),
          rpm('painter', 20),
          rpm('speaker', 60),
          rpm('film', 40),
          {
            apiModelId: 'endpoint:api/v1/crypto/rpc',
            rateLimits: [
              { type: 'RPM', amount: 100 },
              { type: 'RPD', amount: 10_000_000 },
            ],
          },
          rpm('endpoint:api/v1/api_keys', 20),
          rpm('endpoint:api/v1', 600),
        ],
      },
    })
  })

  test("clamps the balances to the rest of the key's limit, and says when there is nothing to spend", async () => {
    const { accountId } = await app.createAccount()
    await app.app.services.accounts.setStake(accountId, 5_000_000_000n)
    const rich = await createKey(accountId, { usdNano: 7_000_000_000n, diemNano: 250_000_001n })
    expect((await get('/api_keys/rate_limits', rich.secret)).body.data).toMatchObject({
      accessPermitted: true,
      balances: { USD: 1, DIEM: 0.250000001 },
    })
    const spent = await createKey(accountId, { usdNano: 0n, diemNano: 50_000_000n })
    const answered = await chat(spent.secret)
    expect(answered.status).toBe(200)
    const { balances } = (await get('/api_keys/rate_limits', spent.secret)).body.data
    expect(balances.USD).toBe(0)
    expect(balances.DIEM).toBeLessThan(0.05)
    expect(balances.DIEM).toBeGreaterThan(0.04)
    const poor = await createKey(accountId, { usdNano: 0n, diemNano: 0n })
    expect((await get('/api_keys/rate_limits', poor.secret)).body.data).toMatchObject({
      accessPermitted: false,
      balances: { USD: 0, DIEM: 0 },
    })
  })

  test('shows what the operator set, which is what the limiter rejects by', async () => {
    const { accountId } = await app.createAccount({ tier: 'standard' })
    const { secret, keyId } = await createKey(accountId)
    const { overrides: limitOverrides } = app.app.services.limits
    await limitOverrides.set({ accountId, limits: { image: { requestsPerMinute: 33 } } })
    await limitOverrides.set({ accountId, keyId, limits: { text: { XS: { requestsPerMinute: 2 } } } })
    const { body } = await get('/api_keys/rate_limits', secret)
    expect(body.data.rateLimits).toEqual(
      expect.arrayContaining([text('test-model', 2, 1_000_000), rpm('painter', 33), rpm('speaker', 60)]),
    )
    const answers = await Promise.all([1, 2, 3].map(() => chat(secret)))
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1)
    expect(new Set(answers.map(({ headers }) => headers.get('x-ratelimit-type')))).toEqual(new Set(['api_key']))
    expect(new Set(answers.map(({ headers }) => headers.get('x-ratelimit-limit-requests')))).toEqual(new Set(['2']))
  })
})

test('a route that needs no key shows its limits to callers that send one', async () => {
  const { adminKey } = await app.createAccount()
  const headersOf = async (headers: Record<string, string>) => {
    const answer = await fetch(`${app.baseUrl}/models`, { headers })
    return ['type', 'limit-requests', 'remaining-requests'].map((name) => answer.headers.get(`x-ratelimit-${name}`))
  }
  expect(await headersOf({ authorization: `Bearer ${adminKey}` })).toEqual(['global', '600', '600'])
  expect(await headersOf({})).toEqual([null, null, null])
})

describe('the headers of a rejection', () => {
  test('name the windows of the model, and the same request passes after each announced reset', async () => {
    const { accountId } = await app.createAccount({ tier: 'standard' })
    const { secret } = await createKey(accountId)
    await app.app.services.limits.overrides.set({ accountId, limits: { text: { XS: { requestsPerMinute: 3 } } } })
    for (let count = 0; count < 3; count++) {
      expect((await chat(secret)).status).toBe(200)
      clock.advance(3_500)
    }
    const refused = await chat(secret)
    expect(refused.status).toBe(429)
    const header = (name: string) => refused.headers.get(`x-ratelimit-${name}`)
    expect(['limit-requests', 'remaining-requests', 'type', 'limit-tokens'].map(header)).toEqual([
      '3',
      '0',
      'user',
      '1000000',
    ])
    const resetMs = Number(header('reset-requests')) * 1_000
    expect(Number(refused.headers.get('retry-after'))).toBe(Math.ceil((resetMs - clock.nowMs()) / 1_000))
    expect(Number(header('reset-tokens'))).toBeGreaterThan(0)
    clock.set(new Date(resetMs - 1_001).toISOString())
    expect((await chat(secret)).status).toBe(429)
    clock.set(new Date(resetMs).toISOString())
    expect((await chat(secret)).status).toBe(200)
  })
})

describe('GET /api_keys/rate_limits/log', () => {
  test('lists what exceeded a limit, newest first, and nothing else', async () => {
    const { accountId, adminKey } = await app.createAccount({ tier: 'standard' })
    const { secret, keyId } = await createKey(accountId)
    const limits = { text: { XS: { tokensPerMinute: 500 } }, rpc: { creditsPer24Hours: 10 } }
    await app.app.services.limits.overrides.set({ accountId, limits })
    expect((await chat(secret, { max_tokens: 400 })).status).toBe(200)
    expect((await chat(secret, { max_tokens: 500 })).status).toBe(429)
    clock.advance(1_000)
    const rpc = await fetch(`${app.baseUrl}/crypto/rpc/ethereum-mainnet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
    })
    expect(rpc.status).toBe(429)
    const { status, body } = await get('/api_keys/rate_limits/log', adminKey)
    expect(status).toBe(200)
    expect(body).toEqual({
      data: [
        {
          apiKeyId: keyId,
          modelId: 'endpoint:api/v1/crypto/rpc',
          rateLimitTier: 'standard',
          rateLimitType: 'RPD',
          timestamp: clock.now().toISOString(),
        },
        {
          apiKeyId: keyId,
          modelId: 'test-model',
          rateLimitTier: 'XS',
          rateLimitType: 'TPM',
          timestamp: new Date(clock.nowMs() - 1_000).toISOString(),
        },
      ],
      object: 'list',
    })
  })

  test('lists the rejections of a block after too many failures', async () => {
    const { accountId, adminKey } = await app.createAccount()
    const { secret, keyId } = await createKey(accountId)
    for (let count = 0; count < 21; count++) expect((await chat(secret, { model: 'none' })).status).toBe(404)
    const blocked = await chat(secret)
    expect([blocked.status, blocked.headers.get('retry-after')]).toEqual([429, '30'])
    expect((await get('/api_keys/rate_limits/log', adminKey)).body.data).toEqual([
      {
        apiKeyId: keyId,
        modelId: 'model:unknown',
        rateLimitTier: 'staff',
        rateLimitType: 'FAILED_REQUESTS',
        timestamp: clock.now().toISOString(),
      },
    ])
  })

  test('counts a request of an INFERENCE key for foreign data as a failure of the key', async () => {
    const { accountId } = await app.createAccount()
    const { secret } = await createKey(accountId)
    for (let count = 0; count < 21; count++) {
      const { status, headers } = await get('/api_keys', secret)
      expect([status, headers.get('x-ratelimit-type')]).toEqual([401, 'global'])
    }
    expect((await get('/api_keys/rate_limits', secret)).status).toBe(429)
  })

  test("requires an ADMIN key, and shows no other account's rejections", async () => {
    const { accountId } = await app.createAccount()
    const { secret } = await createKey(accountId)
    const refused = await get('/api_keys/rate_limits/log', secret)
    expect([refused.status, refused.body.code]).toEqual([401, 'ADMIN_KEY_REQUIRED'])
    const stranger = await app.createAccount()
    expect((await get('/api_keys/rate_limits/log', stranger.adminKey)).body).toEqual({ data: [], object: 'list' })
  })
})
