import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createKeyHarness, type KeyHarness, keySettings } from '../../../support/key-harness.ts'
import { trustProcessClock } from '../../../support/process-clock.ts'

const MINUTE_MS = 60_000
const clock = createFakeClock()
let database: TestDatabase
let here: KeyHarness
/** Another process, whose messages do not arrive here. */
let elsewhere: KeyHarness

beforeAll(async () => {
  database = await createTestDatabase()
  here = await createKeyHarness(database.db, { clock })
  elsewhere = await createKeyHarness(database.db, { clock })
})
afterAll(() => database.close())

async function createKey(expiresAt: Date | null = null) {
  const { accountId, caller } = await here.createAccount()
  const { key } = await here.apiKeys.create(
    here.contextOf(caller),
    keySettings({ expiresAt: expiresAt?.toISOString() ?? null }),
  )
  return { accountId, keyId: key.id }
}

/** Watches and says how often the end was reported. */
function watch(credential: { accountId: string; keyId: string | null }) {
  const reports = { count: 0, stop: () => {} }
  reports.stop = here.credentialWatch.watch(credential, () => (reports.count += 1))
  return reports
}

describe('the end of a credential that another process brought about is found by a check', () => {
  test.each([
    ['the key is revoked', ({ accountId, keyId }) => elsewhere.apiKeys.revoke(accountId, keyId)],
    ['the account is suspended', ({ accountId }) => elsewhere.accounts.suspend(accountId, 'test')],
    ['the key expires', async () => clock.advance(MINUTE_MS)],
  ] satisfies [string, (key: { accountId: string; keyId: string }) => Promise<unknown>][])('%s', async (_, end) => {
    const key = await createKey(new Date(clock.nowMs() + MINUTE_MS))
    const bystander = watch(await createKey())
    const watched = watch(key)
    await here.credentialWatch.check()
    expect(watched.count).toBe(0)
    await end(key)
    await here.credentialWatch.check()
    expect(watched.count).toBeGreaterThan(0)
    expect(bystander.count).toBe(0)
    watched.stop()
    bystander.stop()
  })
})

describe('a watch', () => {
  test("reports the suspension of a wallet's account", async () => {
    const { accountId } = await createKey()
    const watched = watch({ accountId, keyId: null })
    await here.credentialWatch.check()
    expect(watched.count).toBe(0)
    await elsewhere.accounts.suspend(accountId, 'test')
    await here.credentialWatch.check()
    expect(watched.count).toBe(1)
    watched.stop()
  })

  test('hears of a revocation in its own process at once, and of nothing after it was ended', async () => {
    const key = await createKey()
    const [watched, ended] = [watch(key), watch(key)]
    ended.stop()
    await here.apiKeys.revoke(key.accountId, key.keyId)
    expect(watched.count).toBeGreaterThan(0)
    expect(ended.count).toBe(0)
    watched.stop()
  })

  test('leaves a resumed account in peace', async () => {
    const key = await createKey()
    const watched = watch(key)
    await elsewhere.accounts.suspend(key.accountId, 'test')
    await elsewhere.accounts.resume(key.accountId)
    await here.credentialWatch.check()
    expect(watched.count).toBe(0)
    watched.stop()
  })

  test('continues after a check that failed', async () => {
    const key = await createKey()
    const watched = watch(key)
    await elsewhere.apiKeys.revoke(key.accountId, key.keyId)
    await sql`alter table api_keys rename to api_keys_away`.execute(database.db)
    await here.credentialWatch.check()
    expect(watched.count).toBe(0)
    await sql`alter table api_keys_away rename to api_keys`.execute(database.db)
    await here.credentialWatch.check()
    expect(watched.count).toBeGreaterThan(0)
    watched.stop()
  })

  test('reports an expiry by the clock of the database, not by that of its process', async () => {
    const key = await createKey(new Date(clock.nowMs() + MINUTE_MS))
    const watched = watch(key)
    const behind = new Date(clock.nowMs())
    await sql`create or replace function ledger_instant(process_time timestamptz) returns timestamptz
      language sql stable as ${sql.lit(`select timestamptz '${behind.toISOString()}'`)}`.execute(database.db)
    clock.advance(2 * MINUTE_MS)
    await here.credentialWatch.check()
    expect(watched.count).toBe(0)
    await trustProcessClock(database.db)
    await here.credentialWatch.check()
    expect(watched.count).toBeGreaterThan(0)
    watched.stop()
  })
})
