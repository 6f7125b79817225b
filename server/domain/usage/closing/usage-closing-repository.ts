import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { ledgerNow } from '../ledger-now-repository.ts'

/** Sums closed days from the roll-ups that settlements write. */
export class UsageClosingRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  now(at: Date): Promise<Date> {
    return ledgerNow(this.#db, at)
  }

  /** Accounts with open usage before `untilDay`, ordered by id, after `afterId`. */
  async listOpen(untilDay: string, afterId: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ account_id: string }>`
      select a.account_id from accounts a left join usage_closings c using (account_id)
      cross join lateral (
        select 1 from usage_daily d
        where d.account_id = a.account_id and d.day >= coalesce(c.closed_until, '-infinity') and d.day < ${untilDay}::date limit 1
      ) open
      where a.account_id > ${afterId} order by 1 limit ${limit}`.execute(this.#db)
    return rows.map((row) => row.account_id)
  }

  /**
   * Begins to close seven days of each account, from its first open day with usage, up to `untilDay`. Returns the
   * accounts with such days, except those that another process is closing and, unless it `waits`, those with a settlement
   * in progress.
   */
  async begin(accountIds: readonly string[], untilDay: string, { waits }: { waits: boolean }): Promise<string[]> {
    const { rows } = await sql<{ account_id: string }>`
      select begin_closing(${accountIds}::uuid[], ${untilDay}::date, ${waits}) as account_id`.execute(this.#db)
    return rows.map((row) => row.account_id)
  }

  /** Sums up the days being closed; returns the accounts, except those that another process is closing. */
  async finish(accountIds: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ account_id: string }>`
      select finish_closing(${accountIds}::uuid[]) as account_id`.execute(this.#db)
    return rows.map((row) => row.account_id)
  }
}
