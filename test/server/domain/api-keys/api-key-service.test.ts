import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, EITHER_ENGINE, type TestDatabase } from '../../../support/database.ts'
import { createKeyHarness, type KeyHarness, keySettings } from '../../../support/key-harness.ts'

const NOT_FOUND = { code: 'invalid_request', message: 'API key not found or expired' }

let database: TestDatabase
let keys: KeyHarness

describe.each(EITHER_ENGINE)('API keys on %s', (engine) => {
  beforeAll(async () => {
    database = await createTestDatabase(engine)
    keys = await createKeyHarness(database.db)
  })
  afterAll(() => database.close())

  describe('creating', () => {
    test('shows the secret once: the database holds neither it nor its random part', async () => {
      const { caller } = await freshAccount()
      const { key, secret } = await keys.apiKeys.create(keys.contextOf(caller), keySettings())
      const dump = JSON.stringify(await keys.db.selectFrom('api_keys').selectAll().execute(), (_, value) =>
        typeof value === 'bigint' ? value.toString() : value,
      )
      expect(dump).toContain(key.id)
      expect(dump).not.toContain(secret.slice(12, 44))
      expect(key.last6Chars).toBe(secret.slice(-6))
    })

    test('keeps the largest limit and the smallest fraction exactly', async () => {
      const { caller, accountId } = await freshAccount()
      const limits = { usdNano: 9_999_999_999_000_000_000n, diemNano: 1n }
      const { key } = await keys.apiKeys.create(keys.contextOf(caller), keySettings({ limits }))
      expect((await keys.apiKeys.get(accountId, key.id)).limits).toEqual(limits)
    })

    test('the twenty-first creation within a minute is rejected, and the next minute is free again', async () => {
      const { caller } = await freshAccount()
      const create = () => keys.apiKeys.create(keys.contextOf(caller), keySettings())
      for (let count = 0; count < 20; count += 1) await create()
      await expect(create()).rejects.toMatchObject({ code: 'rate_limited', limit: { limit: 20 } })
      keys.clock.advance(62_000)
      await expect(create()).resolves.toBeDefined()
    })

    test('20 creations a minute hold over processes without Redis, however the requests are spread', async () => {
      const { caller } = await freshAccount()
      const other = await createKeyHarness(keys.db, { clock: keys.clock })
      const results = await Promise.allSettled(
        Array.from({ length: 40 }, (_, index) => {
          const process = index < 25 ? keys : other
          return process.apiKeys.create(process.contextOf(caller), keySettings())
        }),
      )
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
      keys.clock.advance(18_000)
      await expect(other.apiKeys.create(other.contextOf(caller), keySettings())).rejects.toMatchObject({
        code: 'rate_limited',
        retryAfterSeconds: 42,
        limit: { limit: 20, remaining: 0, windows: { requests: { resetAtMs: keys.clock.nowMs() + 42_000 } } },
      })
      keys.clock.advance(42_000)
      await expect(other.apiKeys.create(other.contextOf(caller), keySettings())).resolves.toBeDefined()
    })

    test('keys that an operator makes do not count as creations of the account', async () => {
      const { caller, accountId } = await freshAccount()
      for (let count = 0; count < 20; count += 1) await keys.apiKeys.createForAccount(accountId, keySettings())
      await expect(keys.apiKeys.create(keys.contextOf(caller), keySettings())).resolves.toBeDefined()
    })

    test('an expiry that is past is rejected and uses up nothing of the window', async () => {
      const { caller } = await freshAccount()
      for (let count = 0; count < 25; count += 1) {
        const settings = keySettings({ expiresAt: '2020-01-01' })
        await expect(async () => keys.apiKeys.create(keys.contextOf(caller), settings)).rejects.toMatchObject({
          code: 'invalid_request',
          field: 'expiresAt',
        })
      }
      await expect(keys.apiKeys.create(keys.contextOf(caller), keySettings())).resolves.toBeDefined()
    })

    test('succeeds for exactly one of parallel creations at 499 active keys', async () => {
      const { accountId } = await freshAccount()
      await fillTo(accountId, 499)
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, () => keys.apiKeys.createForAccount(accountId, keySettings())),
      )
      expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
      expect(await keys.apiKeys.list(accountId)).toHaveLength(500)
      const refused = results.find((result) => result.status === 'rejected')
      expect(refused?.reason).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('500') })
    })

    test('expired and revoked keys do not count to the 500', async () => {
      const { accountId } = await freshAccount()
      const soon = new Date(keys.clock.nowMs() + 1_000).toISOString()
      await keys.apiKeys.createForAccount(accountId, keySettings({ expiresAt: soon }))
      await fillTo(accountId, 500)
      await expect(keys.apiKeys.createForAccount(accountId, keySettings())).rejects.toThrow('500')
      keys.clock.advance(1_000)
      await expect(keys.apiKeys.createForAccount(accountId, keySettings())).resolves.toBeDefined()
    })

    test('a rejected creation is given back to the window', async () => {
      const { caller, accountId } = await freshAccount()
      await fillTo(accountId, 500)
      for (let count = 0; count < 25; count += 1) {
        const creation = keys.apiKeys.create(keys.contextOf(caller), keySettings())
        await expect(creation).rejects.toMatchObject({ code: 'invalid_request' })
      }
    })

    test('an unknown account has no keys to make', async () => {
      for (const accountId of [keys.ids.uuid(), 'nonsense']) {
        await expect(keys.apiKeys.createForAccount(accountId, keySettings())).rejects.toMatchObject({
          code: 'not_found',
        })
      }
    })
  })

  describe('updating', () => {
    test('changes only the given fields', async () => {
      const { accountId } = await freshAccount()
      const { key } = await keys.apiKeys.createForAccount(
        accountId,
        keySettings({ limits: { usdNano: 5n, diemNano: 7n }, expiresAt: '2030-01-01', limitPeriod: 'MONTH' }),
      )
      const updated = await keys.apiKeys.update(accountId, { id: key.id, limits: { usdNano: null } })
      expect(updated).toEqual({ ...key, limits: { usdNano: null, diemNano: 7n } })
      const renamed = await keys.apiKeys.update(accountId, { id: key.id, description: 'new', expiresAt: null })
      expect(renamed).toEqual({ ...updated, description: 'new', expiresAt: null })
      expect(await keys.apiKeys.update(accountId, { id: key.id })).toEqual(renamed)
    })

    test('unknown, foreign, revoked and expired keys are rejected alike', async () => {
      const { accountId } = await freshAccount()
      const other = await freshAccount()
      const create = (settings = keySettings()) => keys.apiKeys.createForAccount(accountId, settings)
      const revoked = (await create()).key.id
      await keys.apiKeys.revoke(accountId, revoked)
      const soon = new Date(keys.clock.nowMs() + 1_000).toISOString()
      const expired = (await create(keySettings({ expiresAt: soon }))).key.id
      keys.clock.advance(1_000)
      for (const id of [keys.ids.uuid(), other.caller.keyId, revoked, expired, 'no-uuid', '']) {
        await expect(keys.apiKeys.update(accountId, { id, description: 'x' })).rejects.toMatchObject(NOT_FOUND)
        await expect(keys.apiKeys.revoke(accountId, id)).rejects.toMatchObject(NOT_FOUND)
        await expect(keys.apiKeys.get(accountId, id)).rejects.toMatchObject({ message: 'API key not found' })
      }
      expect((await keys.apiKeys.get(other.accountId, other.caller.keyId)).description).toBe('First key')
    })

    test('an expiry that is past is rejected', async () => {
      const { accountId, caller } = await freshAccount()
      const expiresAt = new Date(keys.clock.nowMs())
      await expect(keys.apiKeys.update(accountId, { id: caller.keyId, expiresAt })).rejects.toMatchObject({
        field: 'expiresAt',
      })
    })
  })

  describe('rotating', () => {
    test('gives a new secret with the same settings, and the old one lives for the grace only', async () => {
      const { accountId, caller } = await freshAccount()
      const settings = keySettings({ limits: { usdNano: 5n }, limitPeriod: 'LIFETIME', description: 'production' })
      const old = await keys.apiKeys.createForAccount(accountId, settings)
      const next = await keys.apiKeys.rotate(keys.contextOf(caller), { id: old.key.id, graceSeconds: 60 })
      expect(next.key).toMatchObject({ description: 'production', limits: old.key.limits, limitPeriod: 'LIFETIME' })
      expect((await keys.auth.authenticateKey(old.secret)).keyId).toBe(old.key.id)
      keys.clock.advance(60_000)
      await expect(keys.auth.authenticateKey(old.secret)).rejects.toThrow('API key expired')
      expect((await keys.auth.authenticateKey(next.secret)).keyId).toBe(next.key.id)
    })

    test('revokes the old secret at once without grace, even at 500 active keys', async () => {
      const { accountId, caller, adminKey } = await freshAccount()
      await fillTo(accountId, 500)
      const next = await keys.apiKeys.rotate(keys.contextOf(caller), { id: caller.keyId, graceSeconds: 0 })
      await expect(keys.auth.authenticateKey(adminKey)).rejects.toThrow('Authentication failed')
      expect((await keys.auth.authenticateKey(next.secret)).keyType).toBe('ADMIN')
      expect(await keys.apiKeys.list(accountId)).toHaveLength(500)
    })

    test('a grace never lengthens the life of the old key', async () => {
      const { accountId, caller } = await freshAccount()
      const soon = new Date(keys.clock.nowMs() + 1_000)
      const old = await keys.apiKeys.createForAccount(accountId, keySettings({ expiresAt: soon.toISOString() }))
      await keys.apiKeys.rotate(keys.contextOf(caller), { id: old.key.id, graceSeconds: 3_600 })
      expect((await keys.apiKeys.get(accountId, old.key.id)).expiresAt).toEqual(soon)
    })

    test('succeeds for exactly one of parallel rotations of one key', async () => {
      const { accountId, caller } = await freshAccount()
      const { key } = await keys.apiKeys.createForAccount(accountId, keySettings())
      const results = await Promise.allSettled(
        Array.from({ length: 5 }, () => keys.apiKeys.rotate(keys.contextOf(caller), { id: key.id, graceSeconds: 0 })),
      )
      expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
    })
  })

  describe('listing', () => {
    test('shows active keys, newest first', async () => {
      const { accountId, caller } = await freshAccount()
      const ids = [caller.keyId]
      for (let count = 0; count < 3; count += 1) {
        keys.clock.advance(1)
        ids.unshift((await keys.apiKeys.createForAccount(accountId, keySettings())).key.id)
      }
      await keys.apiKeys.revoke(accountId, ids[1] ?? '')
      const listed = await keys.apiKeys.list(accountId)
      expect(listed.map((key) => key.id)).toEqual([ids[0], ids[2], ids[3]])
    })

    test('pages continue behind their cursor and cover every key once', async () => {
      const { accountId } = await freshAccount()
      await fillTo(accountId, 25)
      const seen: string[] = []
      let after: string | null = null
      do {
        const page = await keys.apiKeys.listPage(accountId, { first: 10, after })
        seen.push(...page.items.map((key) => key.id))
        after = page.hasNextPage ? page.endCursor : null
      } while (after !== null)
      expect(seen).toEqual((await keys.apiKeys.list(accountId)).map((key) => key.id))
    })

    test('a cursor of another account is rejected', async () => {
      const [one, two] = [await freshAccount(), await freshAccount()]
      const { endCursor } = await keys.apiKeys.listPage(one.accountId, { first: 1 })
      const foreign = keys.apiKeys.listPage(two.accountId, { first: 1, after: endCursor })
      await expect(foreign).rejects.toMatchObject({ code: 'invalid_request', field: 'after' })
    })

    test('usage counts seven UTC days and the current period only', async () => {
      const { accountId, caller } = await freshAccount()
      keys.clock.set('2026-03-10T00:00:00.000Z')
      for (const [day, amount] of [
        ['2026-03-03', 1_000n],
        ['2026-03-04', 20n],
        ['2026-03-10', 3n],
      ] as const) {
        await addUsage({ accountId, keyId: caller.keyId, day, amount })
      }
      const { usage } = await keys.apiKeys.get(accountId, caller.keyId)
      expect(usage).toEqual({
        trailingSevenDays: { usdNano: 23n, diemNano: 0n },
        currentPeriod: { usdNano: 3n, diemNano: 0n },
        held: { usdNano: 0n, diemNano: 0n },
      })
    })
  })

  test('last uses reach the row in one write, and an older one never overwrites a newer one', async () => {
    const { accountId, adminKey, caller } = await freshAccount()
    const usedAt = keys.clock.now()
    await keys.auth.authenticateKey(adminKey)
    await keys.lastUsed.flush()
    await keys.repository.recordUses([{ accountId, keyId: caller.keyId, usedAt: new Date(usedAt.getTime() - 5_000) }])
    expect((await keys.apiKeys.get(accountId, caller.keyId)).lastUsedAt).toEqual(usedAt)
  })
})

/** Moves on past the creation window, so that tests do not limit each other. */
async function freshAccount() {
  keys.clock.advance(120_000)
  return keys.createAccount()
}

/** Adds keys straight to the table until the account has `count` active ones. */
async function fillTo(accountId: string, count: number): Promise<void> {
  const missing = count - (await keys.apiKeys.list(accountId)).length
  const rows = Array.from({ length: missing }, (_, index) => {
    const { key, secretHash } = keys.issuer.issue(accountId, keySettings({ description: `filler ${index}` }))
    return {
      account_id: accountId,
      key_id: key.id,
      key_hash: secretHash,
      type: key.type,
      description: key.description,
      limit_usd_nano: null,
      limit_diem_nano: null,
      limit_period: key.limitPeriod,
      model_privacy: key.modelPrivacy,
      last6_chars: key.last6Chars,
      created_at: key.createdAt,
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
    }
  })
  await keys.db.insertInto('api_keys').values(rows).execute()
}

async function addUsage(usage: { accountId: string; keyId: string; day: string; amount: bigint }): Promise<void> {
  const { accountId, keyId, day, amount } = usage
  await keys.db
    .insertInto('usage_daily')
    .values({
      account_id: accountId,
      day,
      key_id: keyId,
      sku: '',
      line_type: '',
      currency: 'usd',
      model_name: '',
      model_type: null,
      unit_type: 'tokens',
      requests: 1n,
      line_requests: 1n,
      units: '1',
      amount_nano: amount,
    })
    .execute()
  await keys.db
    .insertInto('key_spend')
    .values({
      account_id: accountId,
      key_id: keyId,
      currency: 'usd',
      held_nano: 0n,
      day,
      day_nano: amount,
      month: `${day.slice(0, 7)}-01`,
      month_nano: amount,
      lifetime_nano: amount,
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'key_id', 'currency']).doUpdateSet({ day, day_nano: amount }),
    )
    .execute()
}
