import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SetLimitsInput } from '../../../../server/domain/rate-limits/inputs.ts'
import { MemoryPubSub } from '../../../../server/store/memory/memory-pub-sub.ts'
import { createTestDatabase, EITHER_ENGINE, type TestDatabase } from '../../../support/database.ts'
import { eventually } from '../../../support/eventually.ts'
import { createKeyHarness, type KeyHarness, keySettings, silentLog } from '../../../support/key-harness.ts'

const MODEL = { id: 'model', tier: 'M' } as const

describe.each(EITHER_ENGINE)('limits that an operator sets on %s', (engine) => {
  let database: TestDatabase
  let keys: KeyHarness
  let twin: KeyHarness
  let account: Awaited<ReturnType<KeyHarness['createAccount']>>

  beforeAll(async () => {
    database = await createTestDatabase(engine)
    const pubSub = new MemoryPubSub(silentLog)
    keys = await createKeyHarness(database.db, { pubSub })
    twin = await createKeyHarness(database.db, { pubSub, clock: keys.clock })
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    account = await keys.createAccount()
  })

  const planOf = async (harness: KeyHarness, secret: string) =>
    harness.ratePlans.planForText(await harness.auth.authenticateKey(secret), MODEL, 1)

  it('are followed by every process at once, without a further look into the database per request', async () => {
    const { accountId, adminKey } = account
    expect((await planOf(twin, adminKey)).requests.limit).toBe(50)
    await keys.limitOverrides.set({ accountId, limits: { text: { M: { requestsPerMinute: 5 } } } })
    expect((await planOf(keys, adminKey)).requests.limit).toBe(5)
    await eventually(async () => expect((await planOf(twin, adminKey)).requests.limit).toBe(5))
    const lookups = twin.lookups.length
    for (let count = 0; count < 10; count++) await planOf(twin, adminKey)
    expect(twin.lookups.length).toBe(lookups)
    await keys.limitOverrides.clear({ accountId })
    expect((await planOf(keys, adminKey)).requests.limit).toBe(50)
    await eventually(async () => expect((await planOf(twin, adminKey)).requests.limit).toBe(50))
  })

  it('are separate for a key and its account', async () => {
    const { accountId, adminKey } = account
    const { key, secret } = await keys.apiKeys.createForAccount(accountId, keySettings())
    const limits = { text: { M: { tokensPerMinute: 1_000 } }, rpc: { requestsPerMinute: 3 } }
    const set = await keys.limitOverrides.set({ accountId, keyId: key.id, limits })
    expect(set).toMatchObject({ tier: 'standard', account: null, keys: [{ keyId: key.id, limits }] })
    expect(set.inForce.rpc.requestsPerMinute).toBe(100)
    expect(await planOf(keys, secret)).toMatchObject({
      scope: 'api_key',
      tokens: { limit: 750_000 },
      keyWindows: { requests: null, tokens: { limit: 1_000 } },
    })
    expect(await planOf(keys, adminKey)).toMatchObject({ scope: 'user' })
    expect((await keys.limitOverrides.clear({ accountId, keyId: key.id })).keys).toEqual([])
    expect(await planOf(keys, secret)).toMatchObject({ scope: 'user' })
  })

  it('replace earlier ones, and survive a change of tier', async () => {
    const { accountId, adminKey } = account
    await keys.limitOverrides.set({ accountId, limits: { image: { requestsPerMinute: 9 } } })
    await keys.limitOverrides.set({ accountId, limits: { text: { M: { requestsPerMinute: 7 } } } })
    await keys.accounts.setTier(accountId, 'partner')
    const { inForce, account: set } = await keys.limitOverrides.get(accountId)
    expect(set).toEqual({ text: { M: { requestsPerMinute: 7 } } })
    expect([inForce.image.requestsPerMinute, inForce.text.M]).toEqual([
      60,
      { requestsPerMinute: 7, tokensPerMinute: 1_500_000 },
    ])
    expect((await planOf(keys, adminKey)).tokens?.limit).toBe(1_500_000)
  })

  it('are rejected for an account or a key that is not there, is foreign, or was revoked', async () => {
    const { accountId } = account
    const limits = { image: { requestsPerMinute: 9 } }
    const other = await keys.createAccount()
    const { key } = await keys.apiKeys.createForAccount(accountId, keySettings())
    await keys.apiKeys.revoke(accountId, key.id)
    const missing = expect.objectContaining({ code: 'not_found' })
    for (const accountId of ['nobody', keys.ids.uuid()]) {
      await expect(keys.limitOverrides.get(accountId)).rejects.toEqual(missing)
      await expect(keys.limitOverrides.set({ accountId, limits })).rejects.toEqual(missing)
      await expect(keys.limitOverrides.clear({ accountId })).rejects.toEqual(missing)
    }
    for (const keyId of ['none', keys.ids.uuid(), other.caller.keyId, key.id]) {
      await expect(keys.limitOverrides.set({ accountId, keyId, limits })).rejects.toEqual(missing)
    }
    expect((await keys.limitOverrides.get(accountId)).keys).toEqual([])
  })
})

it.each([
  [{}],
  [{ image: {} }],
  [{ image: { requestsPerMinute: 0 } }],
  [{ image: { requestsPerMinute: 1.5 } }],
  [{ image: { requestsPerMinute: 1e13 } }],
  [{ image: { tokensPerMinute: 5 } }],
  [{ text: { XXL: { requestsPerMinute: 5 } } }],
  [{ rpc: { creditsPer24Hours: '5' } }],
  [{ management: { requestsPerMinute: 5 } }],
  [null],
])('the limits %j cannot be set', (limits) => {
  expect(SetLimitsInput.safeParse({ accountId: 'a', limits, reason: 'test' }).success).toBe(false)
})
