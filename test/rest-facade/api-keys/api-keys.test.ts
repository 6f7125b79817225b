import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApiKeyRoute } from '../../../rest-facade/api-keys/create-api-key.ts'
import { deleteApiKeyRoute } from '../../../rest-facade/api-keys/delete-api-key.ts'
import { getApiKeyRoute } from '../../../rest-facade/api-keys/get-api-key.ts'
import { listApiKeysRoute } from '../../../rest-facade/api-keys/list-api-keys.ts'
import { updateApiKeyRoute } from '../../../rest-facade/api-keys/update-api-key.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { createKeyHarness, type KeyHarness, keySettings } from '../../support/key-harness.ts'
import { type RestHarness, startRestHarness } from '../../support/rest-harness.ts'

const ROUTES = [createApiKeyRoute, listApiKeysRoute, updateApiKeyRoute, deleteApiKeyRoute, getApiKeyRoute]
const NO_LIMITS = { usd: null, diem: null, vcu: null }
const MINIMAL = { apiKeyType: 'INFERENCE', description: 'app' }

let database: TestDatabase
let keys: KeyHarness
let rest: RestHarness
let account: Awaited<ReturnType<KeyHarness['createAccount']>>

beforeAll(async () => {
  database = await createTestDatabase()
  keys = await createKeyHarness(database.db)
  rest = await startRestHarness(ROUTES, {
    accounts: keys.accounts,
    access: { auth: keys.auth, apiKeys: keys.apiKeys },
    limits: { ...keys.limits, ratePlans: keys.ratePlans, rateLimits: keys.rateLimits },
    money: { ledger: keys.ledger },
    clock: keys.clock,
    caller: (await keys.createAccount()).caller,
  })
})
afterAll(async () => {
  await rest[Symbol.asyncDispose]()
  await database.close()
})
beforeEach(async () => {
  account = await keys.createAccount()
})

async function call(method: string, path: string, options: { body?: unknown; secret?: string } = {}) {
  const headers: Record<string, string> = { authorization: `Bearer ${options.secret ?? account.adminKey}` }
  if (options.body !== undefined) headers['content-type'] = 'application/json'
  const body = options.body === undefined ? null : JSON.stringify(options.body)
  const response = await fetch(`${rest.baseUrl}${path}`, { method, headers, body })
  return { status: response.status, body: await response.json() }
}

const create = (body: object) => call('POST', '/api_keys', { body: { ...MINIMAL, ...body } })
const update = (body: object) => call('PATCH', '/api_keys', { body })

describe('POST /api_keys', () => {
  test('returns the secret and the limits in the singular, and nothing else', async () => {
    const limits = { usd: 50, diem: 10.5 }
    const { status, body } = await create({ consumptionLimit: limits, expiresAt: '2027-01-31' })
    expect(status).toBe(200)
    expect(body).toEqual({
      data: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        apiKey: expect.stringMatching(/^service_inf_\w{38}$/),
        apiKeyType: 'INFERENCE',
        description: 'app',
        consumptionLimit: { usd: 50, diem: 10.5, vcu: null },
        limitPeriod: 'EPOCH',
        modelPrivacy: 'ALL',
        expiresAt: '2027-01-31T00:00:00.000Z',
      },
      success: true,
    })
    expect(await keys.auth.authenticateKey(body.data.apiKey)).toMatchObject({ accountId: account.accountId })
  })

  test.each([
    [{}, NO_LIMITS],
    [{ vcu: 7 }, { ...NO_LIMITS, diem: 7 }],
    [
      { diem: 3, vcu: 7 },
      { ...NO_LIMITS, diem: 3 },
    ],
    [
      { diem: null, vcu: 7 },
      { ...NO_LIMITS, diem: 7 },
    ],
    [{ usd: 0 }, { ...NO_LIMITS, usd: 0 }],
    [{ usd: 0.000000001 }, { ...NO_LIMITS, usd: 0.000000001 }],
    [{ usd: 9999999999 }, { ...NO_LIMITS, usd: 9999999999 }],
    [{ usd: 12345678.12345679 }, { ...NO_LIMITS, usd: 12345678.12345679 }],
  ])('keeps the limit %j as %j', async (consumptionLimit, kept) => {
    const { body } = await create({ consumptionLimit })
    expect(body.data.consumptionLimit).toEqual(kept)
    expect((await call('GET', `/api_keys/${body.data.id}`)).body.data.consumptionLimits).toEqual(kept)
  })

  test.each([
    [{ description: undefined }, 'description'],
    [{ apiKeyType: undefined }, 'apiKeyType'],
    [{ apiKeyType: 'ROOT' }, 'apiKeyType'],
    [{ description: 'x'.repeat(65) }, 'description'],
    [{ description: 5 }, 'description'],
    [{ consumptionLimit: { usd: -1 } }, 'consumptionLimit'],
    [{ consumptionLimit: { usd: 10_000_000_000 } }, 'consumptionLimit'],
    [{ consumptionLimit: { usd: '5' } }, 'consumptionLimit'],
    [{ consumptionLimit: { usd: 1e-10 } }, 'consumptionLimit'],
    [{ consumptionLimit: { eur: 1 } }, 'consumptionLimit'],
    [{ limitPeriod: 'WEEK' }, 'limitPeriod'],
    [{ modelPrivacy: 'NONE' }, 'modelPrivacy'],
    [{ expiresAt: '2027-02-30' }, 'expiresAt'],
    [{ expiresAt: '2020-01-01' }, 'expiresAt'],
  ])('rejects %j and names the field', async (change, field) => {
    const { status, body } = await create(change)
    expect(status).toBe(400)
    expect(body.error).toContain(field)
    expect(body.details).toMatchObject({
      _errors: [],
      [field]: expect.objectContaining({ _errors: expect.any(Array) }),
    })
  })

  test.each(['id', 'accountId', 'tier', 'usage', 'createdAt', 'last6Chars', '__proto__', 'constructor'])(
    'rejects the field %s, which nobody may set',
    async (field) => {
      const body = JSON.parse(`{"apiKeyType":"ADMIN","description":"x","${field}":"x"}`)
      const answer = await call('POST', '/api_keys', { body })
      expect(answer.status).toBe(400)
      expect(answer.body.details).toMatchObject({ _errors: [expect.stringContaining(field)] })
    },
  )

  test.each([undefined, null, [], 'text', 5])('rejects the body %j', async (body) => {
    expect((await call('POST', '/api_keys', { body })).status).toBe(400)
  })

  test('the twenty-first creation within a minute is a 429', async () => {
    for (let count = 0; count < 20; count += 1) expect((await create({})).status).toBe(200)
    expect(await create({})).toMatchObject({ status: 429, body: { code: 'RATE_LIMIT_EXCEEDED' } })
  })
})

describe('PATCH /api_keys', () => {
  test('returns the whole key and the limits in the plural', async () => {
    const made = (await create({ consumptionLimit: { usd: 5, diem: 6 }, expiresAt: '2027-01-31' })).body.data
    const { status, body } = await update({ id: made.id, consumptionLimit: { usd: null }, expiresAt: '' })
    expect(status).toBe(200)
    expect(body).toEqual({
      data: {
        id: made.id,
        apiKeyType: 'INFERENCE',
        description: 'app',
        consumptionLimits: { usd: null, diem: 6, vcu: null },
        limitPeriod: 'EPOCH',
        modelPrivacy: 'ALL',
        createdAt: keys.clock.now().toISOString(),
        expiresAt: null,
        last6Chars: made.apiKey.slice(-6),
        lastUsedAt: null,
      },
      success: true,
    })
  })

  test.each([null, ''])('expiresAt %j removes the expiry', async (expiresAt) => {
    const { id } = (await create({ expiresAt: '2027-01-31T10:00:00.5Z' })).body.data
    expect((await update({ id, expiresAt })).body.data.expiresAt).toBeNull()
  })

  test('the type of a key never changes', async () => {
    const { id } = (await create({})).body.data
    expect((await update({ id, apiKeyType: 'ADMIN' })).status).toBe(400)
    expect((await call('GET', `/api_keys/${id}`)).body.data.apiKeyType).toBe('INFERENCE')
  })

  test('an unknown, foreign, malformed or expired id is the same 400', async () => {
    const foreign = (await keys.createAccount()).caller.keyId
    const expired = (await create({ expiresAt: new Date(keys.clock.nowMs() + 1_000).toISOString() })).body.data.id
    keys.clock.advance(1_000)
    for (const id of [keys.ids.uuid(), foreign, 'nonsense', "' or 1=1 --", expired]) {
      const { status, body } = await update({ id, description: 'mine' })
      expect({ status, error: body.error }).toEqual({ status: 400, error: 'API key not found or expired' })
    }
    expect((await update({ description: 'x' })).body.error).toContain('id')
  })
})

describe('GET /api_keys', () => {
  test('lists active keys with usage in four decimals, newest first', async () => {
    keys.clock.advance(1)
    const { id } = (await create({ consumptionLimit: { usd: 1 } })).body.data
    await spend({ keyId: id, amount: 1_234_550_000n })
    const { status, body } = await call('GET', '/api_keys')
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['data', 'object'])
    expect(body.object).toBe('list')
    expect(body.data).toHaveLength(2)
    expect(body.data[0]).toEqual({
      id,
      apiKeyType: 'INFERENCE',
      description: 'app',
      consumptionLimits: { usd: 1, diem: null, vcu: null },
      limitPeriod: 'EPOCH',
      modelPrivacy: 'ALL',
      createdAt: keys.clock.now().toISOString(),
      expiresAt: null,
      last6Chars: expect.stringMatching(/^\w{6}$/),
      lastUsedAt: null,
      usage: { trailingSevenDays: { usd: '1.2346', vcu: '0.0000', diem: '0.0000' } },
      currentPeriodUsage: { usd: '1.2346', diem: '0.0000' },
    })
  })

  test('GET /api_keys/{id} gives the same record alone', async () => {
    const { body } = await call('GET', `/api_keys/${account.caller.keyId}`)
    expect(body).toEqual({ data: (await call('GET', '/api_keys')).body.data[0] })
  })

  test('GET /api_keys/{id} of a foreign or unknown key is a 400', async () => {
    const foreign = (await keys.createAccount()).caller.keyId
    for (const id of [foreign, keys.ids.uuid(), 'nonsense', '%00']) {
      const { status, body } = await call('GET', `/api_keys/${id}`)
      expect({ status, error: body.error }).toEqual({ status: 400, error: 'API key not found' })
    }
  })
})

describe('DELETE /api_keys', () => {
  test.each(['query', 'body'])('revokes the key named in the %s, which then opens nothing', async (place) => {
    const { id, apiKey } = (await create({ apiKeyType: 'ADMIN' })).body.data
    const answer =
      place === 'query'
        ? await call('DELETE', `/api_keys?id=${id}`)
        : await call('DELETE', '/api_keys', { body: { id } })
    expect(answer).toEqual({ status: 200, body: { success: true } })
    expect((await call('GET', '/api_keys', { secret: apiKey })).status).toBe(401)
    expect((await call('DELETE', `/api_keys?id=${id}`)).body.error).toBe('API key not found or expired')
  })

  test.each(['', '?id=', '?id=nonsense', '?id=a&id=b', '?id[x]=1'])('rejects %j', async (query) => {
    expect((await call('DELETE', `/api_keys${query}`)).status).toBe(400)
  })

  test('a foreign key survives', async () => {
    const other = await keys.createAccount()
    expect((await call('DELETE', `/api_keys?id=${other.caller.keyId}`)).status).toBe(400)
    expect(await keys.auth.authenticateKey(other.adminKey)).toBeDefined()
  })
})

test('every route rejects INFERENCE keys with 401', async () => {
  const { secret } = await keys.apiKeys.createForAccount(account.accountId, keySettings())
  for (const [method, path] of [
    ['POST', '/api_keys'],
    ['PATCH', '/api_keys'],
    ['GET', '/api_keys'],
    ['DELETE', '/api_keys?id=x'],
    ['GET', `/api_keys/${account.caller.keyId}`],
  ] as const) {
    const { status, body } = await call(method, path, { secret })
    expect({ status, error: body.error }).toEqual({ status: 401, error: 'Admin API key required' })
  }
})

async function spend({ keyId, amount }: { keyId: string; amount: bigint }): Promise<void> {
  const day = keys.clock.now().toISOString().slice(0, 10)
  const { accountId } = account
  const common = { account_id: accountId, key_id: keyId, currency: 'usd', day } as const
  const names = { sku: '', line_type: '', model_name: '', model_type: null, unit_type: 'tokens' } as const
  await keys.db
    .insertInto('usage_daily')
    .values({ ...common, ...names, requests: 1n, line_requests: 1n, units: '1', amount_nano: amount })
    .execute()
  const counters = { held_nano: 0n, day_nano: amount, month_nano: amount, lifetime_nano: amount }
  await keys.db
    .insertInto('key_spend')
    .values({ ...common, ...counters, month: `${day.slice(0, 7)}-01` })
    .execute()
}
