import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { createPostgresDatabase } from '../../../server/db/database.ts'
import { createTestDatabase, hasEngine } from '../../support/database.ts'
import { findPgBouncer, startPgBouncer } from '../../support/pgbouncer-process.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'

const binary = findPgBouncer()

async function openThroughPooler() {
  const database = await createTestDatabase('postgres')
  const pooler = await startPgBouncer(binary ?? '', database.url ?? '')
  const proxy = await startTcpProxy(pooler.url)
  const handle = createPostgresDatabase(proxy.url)
  return {
    database,
    pooler,
    proxy,
    handle,
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]()
      await handle.close()
      await pooler[Symbol.asyncDispose]()
      await database.close()
    },
  }
}

const TERMS = sql<{ statement: string; lock: string; idle: string; jit: string }>`
  select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
    current_setting('idle_in_transaction_session_timeout') as idle, current_setting('jit') as jit`

describe.runIf(hasEngine('postgres') && binary !== undefined)('behind PgBouncer in transaction mode', () => {
  test('reports, jobs and transactions have their terms', async () => {
    await using opened = await openThroughPooler()
    const { db, reports, jobs } = opened.handle
    const inTransaction = await db.transaction().execute((trx) => TERMS.execute(trx))
    const found = [await TERMS.execute(reports), await TERMS.execute(jobs), inTransaction]
    expect(found.map(({ rows }) => rows[0])).toEqual([
      { statement: '10s', lock: '2s', idle: '4s', jit: 'off' },
      { statement: '10min', lock: '10min', idle: '4s', jit: 'off' },
      { statement: '4s', lock: '2s', idle: '4s', jit: 'off' },
    ])
  })

  test('no setting reaches the sessions of other clients', async () => {
    await using opened = await openThroughPooler()
    const { db, leases, reports, jobs, runStatement } = opened.handle
    for (const pool of [db, leases, reports, jobs]) await sql`select 1`.execute(pool)
    await runStatement?.('select 1', [])
    const client = new pg.Client({ connectionString: opened.pooler.url })
    await client.connect()
    const { rows } = await client.query(
      "select current_setting('statement_timeout') as statement, current_setting('jit') as jit",
    )
    await client.end()
    expect(rows).toEqual([{ statement: '0', jit: 'on' }])
  })

  test.each(['db', 'reports'] as const)(
    'a statement of %s that takes too long ends on the server as well',
    { timeout: 30_000 },
    async (pool) => {
      await using opened = await openThroughPooler()
      await expect(sql`select pg_sleep(60)`.execute(opened.handle[pool])).rejects.toThrow()
      const running = sql`select 1 from pg_stat_activity where datname = current_database() and query like 'select pg_sleep%'
        and state = 'active'`
      await expect.poll(async () => (await running.execute(opened.database.db)).rows.length).toBe(0)
    },
  )

  test('a lock of a host that vanished inside a transaction is free again within seconds', {
    timeout: 30_000,
  }, async () => {
    await using opened = await openThroughPooler()
    const { db } = opened.database
    await sql`create table locked as select 1 as number`.execute(db)
    const locked = Promise.withResolvers<void>()
    const vanished = opened.handle.db.transaction().execute(async (trx) => {
      await sql`select * from locked for update`.execute(trx)
      opened.proxy.partition()
      locked.resolve()
      await sql`select 1`.execute(trx)
    })
    vanished.catch(() => undefined)
    await locked.promise
    const other = sql`select * from locked for update nowait`
    await expect.poll(() => other.execute(db).then(({ rows }) => rows), { timeout: 10_000 }).toEqual([{ number: 1 }])
    await expect(vanished).rejects.toThrow()
  })
})
