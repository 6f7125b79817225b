import { type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createPostgresDatabase, type DatabaseHandle } from '../../../server/db/database.ts'
import type { Database } from '../../../server/db/schema.ts'
import { createTestDatabase, hasEngine } from '../../support/database.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'

const RECOVERY_MS = 15_000
const RETRY_MS = 50

const POOLS = ['db', 'leases', 'reports', 'jobs', 'money'] as const
type PoolName = (typeof POOLS)[number]

function select(handle: DatabaseHandle, pool: PoolName): Promise<unknown> {
  return pool === 'money' ? (handle.runStatement?.('select 1', []) ?? Promise.reject()) : sleepless(handle[pool])
}

const sleepless = (db: Kysely<Database>): Promise<unknown> => sql`select 1`.execute(db)

/** Repeats a call until it succeeds, as callers that get 503 do. */
async function untilItWorks(call: () => Promise<unknown>): Promise<void> {
  for (;;) {
    const works = await call().then(
      () => true,
      () => false,
    )
    if (works) return
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

/** A handle behind a network that can fall silent, with every pool full of connections. */
async function openThroughProxy() {
  const database = await createTestDatabase('postgres')
  const proxy = await startTcpProxy(database.url ?? '')
  const handle = createPostgresDatabase(proxy.url)
  const fill = async (pool: PoolName, count: number): Promise<void> => {
    const slowly = 'select pg_sleep(0.2)'
    const run = (): Promise<unknown> =>
      pool === 'money' ? (handle.runStatement?.(slowly, []) ?? Promise.reject()) : sql.raw(slowly).execute(handle[pool])
    await Promise.all(Array.from({ length: count }, run))
  }
  return {
    handle,
    proxy,
    fill,
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]()
      await handle.close()
      await database.close()
    },
  }
}

describe.runIf(hasEngine('postgres'))('sessions that stay read-only after a failover', () => {
  test.each(['db', 'leases', 'jobs', 'money', 'check'] as const)(
    'are replaced when %s finds one',
    { timeout: 30_000 },
    async (finder) => {
      await using database = await createTestDatabase('postgres')
      const handle = createPostgresDatabase(database.url ?? '')
      const name = sql.id(new URL(database.url ?? '').pathname.slice(1))
      const standby = sql`alter database ${name} set default_transaction_read_only = on`
      const primary = sql`alter database ${name} reset default_transaction_read_only`
      const write = 'insert into processes values (gen_random_uuid(), now(), now())'
      const find = (): Promise<unknown> => {
        if (finder === 'check') return handle.check()
        if (finder === 'money') return handle.runStatement?.(write, []) ?? Promise.reject()
        return sql.raw(write).execute(handle[finder])
      }
      await standby.execute(database.db)
      await expect(find()).rejects.toThrow()
      await expect(handle.check()).rejects.toThrow('standby')
      await primary.execute(database.db)
      await untilItWorks(find)
      await untilItWorks(() => handle.check())
      for (const pool of ['db', 'leases', 'jobs'] as const)
        await untilItWorks(() => sql.raw(write).execute(handle[pool]))
      await handle.close()
    },
  )
})

describe.runIf(hasEngine('postgres'))('a network that falls silent', () => {
  test.each(POOLS)(
    'costs the connections of %s less than 15 s, however many there are',
    { timeout: 30_000 },
    async (pool) => {
      await using opened = await openThroughProxy()
      await opened.fill(pool, 4)
      opened.proxy.silence()
      await expect
        .poll(() => untilItWorks(() => select(opened.handle, pool)).then(() => 'works'), { timeout: RECOVERY_MS })
        .toBe('works')
    },
  )

  test('is noticed by one statement for the connections of all pools', { timeout: 30_000 }, async () => {
    await using opened = await openThroughProxy()
    for (const pool of POOLS) await opened.fill(pool, 2)
    opened.proxy.silence()
    await expect(select(opened.handle, 'money')).rejects.toMatchObject({ code: 'ETIMEDOUT' })
    const answers = await Promise.all(POOLS.map((pool) => select(opened.handle, pool).then(() => pool)))
    expect(answers).toEqual(POOLS)
  })

  test('fails the health check, which succeeds again soon after the network is back', { timeout: 60_000 }, async () => {
    await using opened = await openThroughProxy()
    await opened.handle.check()
    opened.proxy.partition()
    await expect(opened.handle.check()).rejects.toThrow()
    opened.proxy.recover()
    await expect.poll(() => opened.handle.check().then(() => 'ok'), { timeout: RECOVERY_MS }).toBe('ok')
  })

  test('leaves no statement running on the server', { timeout: 30_000 }, async () => {
    await using opened = await openThroughProxy()
    await using other = await createTestDatabase('postgres')
    const lost = sql`select pg_sleep(60)`.execute(opened.handle.db)
    await expect(lost).rejects.toThrow()
    const running = sql`select 1 from pg_stat_activity where query like 'select pg_sleep(60)%' and state = 'active'`
    await expect.poll(async () => (await running.execute(other.db)).rows.length).toBe(0)
  })
})
