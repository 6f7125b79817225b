import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RELEASE_REVISION } from '../../server/config/release.ts'
import { startTestApp, type TestApp, testModels } from '../support/app.ts'

const OFFLINE = {
  id: 'asleep',
  type: 'text',
  providers: [{ id: 'main', model: 'a' }],
  name: 'Asleep',
  tier: 'S',
  offline: true,
}
const RPC_FILE = { networks: { 'ethereum-mainnet': { upstreams: [{ url: 'http://127.0.0.1:9' }] } } }
const PROMPT = { model: 'test-model', messages: [{ role: 'user', content: 'Hello' }] }

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({
    file: {
      models: [...testModels(), OFFLINE],
      rpc: RPC_FILE,
      limits: { abuse: { failures: 3 }, keys: { creationsPerMinute: 1 } },
    },
  })
})
afterAll(() => app.close())

async function send(path: string, options: { key?: string; body?: unknown; headers?: Record<string, string> } = {}) {
  const { key, body, headers } = options
  const response = await fetch(app.baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      'content-type': 'application/json',
      ...headers,
    },
    ...(body === undefined ? {} : { body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

const limitsOf = (headers: Headers) => ({
  limit: headers.get('x-ratelimit-limit-requests'),
  type: headers.get('x-ratelimit-type'),
  tokens: headers.get('x-ratelimit-limit-tokens'),
})

const XS = { limit: '500', type: 'user', tokens: '1000000' }
const MANAGEMENT = { limit: '600', type: 'global', tokens: null }

describe('the limit headers of a request that was not admitted', () => {
  test.each([
    ['a bad field', '/chat/completions', { ...PROMPT, temperature: 9 }, 400, XS],
    [
      'a bad field beside a mapped name with a suffix',
      '/chat/completions',
      { ...PROMPT, model: 'default:x=1', n: -1 },
      400,
      XS,
    ],
    [
      'an offline model',
      '/chat/completions',
      { ...PROMPT, model: 'asleep' },
      503,
      { limit: '75', type: 'user', tokens: '750000' },
    ],
    ['an unknown model', '/chat/completions', { ...PROMPT, model: 'nope' }, 404, MANAGEMENT],
    [
      'token ids',
      '/embeddings',
      { model: 'test-embedding', input: [1] },
      400,
      { limit: '500', type: 'user', tokens: null },
    ],
    [
      'an unsupported method',
      '/crypto/rpc/ethereum-mainnet',
      { jsonrpc: '2.0', id: 1, method: 'nope' },
      400,
      { limit: '100', type: 'user', tokens: null },
    ],
  ] as const)('show the windows of its own model or route for %s', async (_name, path, body, status, expected) => {
    const { adminKey } = await app.createAccount({ tier: 'standard' })
    const response = await send(path, { key: adminKey, body })
    expect({ status: response.status, limits: limitsOf(response.headers) }).toEqual({ status, limits: expected })
    expect(response.headers.get('x-service-balance-usd')).toBe('1')
  })

  test('show the windows of its own model if the balance does not cover it', async () => {
    const { adminKey } = await app.createAccount({ grantNanoUsd: 1n, tier: 'standard' })
    const response = await send('/chat/completions', { key: adminKey, body: PROMPT })
    expect({ status: response.status, limits: limitsOf(response.headers) }).toEqual({ status: 402, limits: XS })
  })

  test('show the window that rejected it, which is the one of key creations', async () => {
    const { adminKey } = await app.createAccount({ tier: 'standard' })
    const create = () => send('/api_keys', { key: adminKey, body: { apiKeyType: 'INFERENCE', description: 'a' } })
    expect((await create()).status).toBe(200)
    const { status, headers } = await create()
    expect({ status, limits: limitsOf(headers), remaining: headers.get('x-ratelimit-remaining-requests') }).toEqual({
      status: 429,
      limits: { limit: '1', type: 'user', tokens: null },
      remaining: '0',
    })
  })

  test('accompany the 429 of a blocked key', async () => {
    const { adminKey } = await app.createAccount({ tier: 'standard' })
    const fail = () => send('/chat/completions', { key: adminKey, body: { ...PROMPT, n: -1 } })
    let response = await fail()
    for (let request = 0; request < 4; request++) response = await fail()
    expect(response.body).toMatchObject({ code: 'TOO_MANY_FAILED_REQUESTS' })
    expect(response.status).toBe(429)
    expect(limitsOf(response.headers)).toMatchObject({ type: expect.any(String), limit: expect.any(String) })
    expect(response.headers.get('x-service-balance-usd')).toBe('1')
  })
})

describe('an error outside of any handler', () => {
  const openAi = { 'x-service-error-format': 'openai' }
  test.each([
    ['an unknown route', '/nothing', undefined, 404, 'NOT_FOUND'],
    ['a method that is not served', '/models', {}, 405, 'METHOD_NOT_ALLOWED'],
    ['a retired route', '/billing/usage', undefined, 410, 'GONE'],
    ['an unreadable path', '/models/%zz', undefined, 400, 'INVALID_REQUEST'],
  ] as const)('has the form of OpenAI on request: %s', async (_name, path, body, status, code) => {
    const plain = await send(path, { body })
    expect({ status: plain.status, body: plain.body }).toEqual({ status, body: { error: expect.any(String), code } })
    const wanted = await send(path, { body, headers: openAi })
    expect({ status: wanted.status, body: wanted.body }).toEqual({
      status,
      body: { error: { message: plain.body.error, type: 'invalid_request_error', param: null, code } },
    })
  })

  test('has the form of OpenAI on request outside the API as well', async () => {
    const response = await fetch(`${app.url}/v1/models`, { headers: openAi })
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 404,
      body: { error: { type: 'invalid_request_error', code: 'NOT_FOUND' } },
    })
  })
})

test('every response names its request in x-request-id and the release in x-service-version', async () => {
  const responses = [await send('/models'), await send('/nothing'), await send('/chat/completions', { body: PROMPT })]
  for (const { headers } of responses) {
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
    expect(headers.get('x-request-id')).toBe(headers.get('cf-ray'))
  }
  expect(RELEASE_REVISION).toMatch(/^\d{8}\.\d{6}$/)
  for (const path of ['/graphql', '/trpc/x']) {
    const { headers } = await fetch(app.url + path, { headers: { accept: 'application/json' } })
    expect(headers.get('x-request-id')).toBe(headers.get('cf-ray'))
  }
})

describe('a compressed request body', () => {
  const encoded = (encoding: string, body: Uint8Array) => ({ body, headers: { 'content-encoding': encoding } })

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('is decompressed from %s', async (encoding, compress) => {
    const { adminKey: key } = await app.createAccount({ tier: 'standard' })
    const { status } = await send('/chat/completions', { key, ...encoded(encoding, compress(JSON.stringify(PROMPT))) })
    expect(status).toBe(200)
  })

  test('is rejected with 413 if it unpacks to more than the route accepts', async () => {
    const { adminKey: key } = await app.createAccount({ tier: 'standard' })
    const bomb = gzipSync(Buffer.alloc(64 * 1024, ' '))
    const { status, body } = await send('/api_keys', { key, ...encoded('gzip', bomb) })
    expect({ status, body }).toMatchObject({ status: 413, body: { error: expect.stringContaining('16384 bytes') } })
  })

  test.each([
    ['an encoding that is not served', 'zstd', 415, /Content-Encoding zstd/],
    ['bytes that are not gzip', 'gzip', 400, /not valid gzip/],
  ] as const)('is rejected for %s', async (_name, encoding, status, message) => {
    const { adminKey: key } = await app.createAccount({ tier: 'standard' })
    const response = await send('/chat/completions', { key, ...encoded(encoding, Buffer.from('{}')) })
    expect({ status: response.status, body: response.body }).toMatchObject({
      status,
      body: { error: expect.stringMatching(message) },
    })
  })
})

describe('API keys', () => {
  test('lose every limit with consumptionLimit: null', async () => {
    const { adminKey: key } = await app.createAccount({ tier: 'standard' })
    const limited = { apiKeyType: 'INFERENCE', description: 'a', consumptionLimit: { usd: 5, diem: 2 } }
    const { body } = await send('/api_keys', { key, body: limited })
    const changed = await fetch(`${app.baseUrl}/api_keys`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id: body.data.id, consumptionLimit: null }),
    })
    expect({ status: changed.status, body: await changed.json() }).toMatchObject({
      status: 200,
      body: { data: { consumptionLimits: { usd: null, diem: null } } },
    })
  })

  test('have a code of their own if they are revoked or expired', async () => {
    const { accountId } = await app.createAccount({ tier: 'standard' })
    const create = (expiresAt: Date | null) =>
      app.app.services.access.apiKeys.createForAccount(accountId, {
        type: 'INFERENCE',
        description: 'a',
        limits: { usdNano: null, diemNano: null },
        limitPeriod: 'EPOCH',
        modelPrivacy: 'ALL',
        expiresAt,
      })
    const revoked = await create(null)
    await app.app.services.access.apiKeys.revoke(accountId, revoked.key.id)
    const rejected = await send('/chat/completions', { key: revoked.secret, body: PROMPT })
    expect({ status: rejected.status, code: rejected.body.code }).toEqual({
      status: 401,
      code: 'AUTHENTICATION_FAILED_INACTIVE_KEY',
    })
  })

  test('read allowed GraphQL fields beside a forbidden one if their type is INFERENCE', async () => {
    const { accountId } = await app.createAccount({ tier: 'standard' })
    const { secret } = await app.app.services.access.apiKeys.createForAccount(accountId, {
      type: 'INFERENCE',
      description: 'a',
      limits: { usdNano: null, diemNano: null },
      limitPeriod: 'EPOCH',
      modelPrivacy: 'ALL',
      expiresAt: null,
    })
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        query: `{ viewer { accountId name ledger { nodes { kind } } apiKeys { nodes { last6Chars } } usage { totals { usd } } balances { balance } } }`,
      }),
    })
    const { data, errors } = (await response.json()) as {
      data: unknown
      errors: { path: string[]; extensions: { code: string } }[]
    }
    expect(data).toEqual({
      viewer: { accountId, name: null, ledger: null, apiKeys: null, usage: null, balances: [{ balance: '1' }] },
    })
    expect(Object.fromEntries(errors.map(({ path, extensions }) => [path.join('.'), extensions.code]))).toEqual({
      'viewer.apiKeys': 'FORBIDDEN',
      'viewer.ledger': 'FORBIDDEN',
      'viewer.name': 'FORBIDDEN',
      'viewer.usage': 'FORBIDDEN',
    })
  })

  test('get the limit, the spending, the period and its reset when they reach their limit', async () => {
    const { accountId } = await app.createAccount({ tier: 'standard' })
    const { secret } = await app.app.services.access.apiKeys.createForAccount(accountId, {
      type: 'INFERENCE',
      description: 'a',
      limits: { usdNano: 1_000n, diemNano: null },
      limitPeriod: 'MONTH',
      modelPrivacy: 'ALL',
      expiresAt: null,
    })
    const { status, body } = await send('/chat/completions', { key: secret, body: PROMPT })
    const now = new Date()
    const resetsAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString()
    expect({ status, body }).toMatchObject({
      status: 402,
      body: {
        code: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED',
        error: expect.stringContaining(`resets at ${resetsAt}`),
        limit: '0.000001',
        spent: '0',
        period: 'MONTH',
        resetsAt,
      },
    })
  })
})
