import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../server/db/schema.ts'

/** Holds the account's balance as another process would, until it is told to let go. */
export async function lockBalance(db: Kysely<Database>, accountId: string): Promise<() => Promise<void>> {
  const release = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const transaction = db.transaction().execute(async (trx) => {
    // The service's own connections would lose the lock after seconds.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
    await trx.selectFrom('balances').selectAll().where('account_id', '=', accountId).forUpdate().execute()
    locked.resolve()
    await release.promise
  })
  await locked.promise
  return () => {
    release.resolve()
    return transaction
  }
}

/** Resolves when a statement of the server waits for the lock. */
export async function untilBlocked(db: Kysely<Database>): Promise<void> {
  const blocked = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await blocked.execute(db)).rows.length === 0) await sleep(10)
}
