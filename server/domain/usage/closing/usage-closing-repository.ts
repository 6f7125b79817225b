import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { ledgerNow } from '../ledger-now-repository.ts'

/** Sums of closed days, made from the roll-ups that settlements write. */
export class UsageClosingRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  now(at: Date): Promise<Date> {
    return ledgerNow(this.#db, at)
  }

  /** Accounts with usage before `untilDay` that is not summed up, in the order of their ids, behind `afterId`. */
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
   * Begins to close seven days of each account from its first open day with usage on, up to `untilDay` at most. Returns
   * the accounts that have such days, less those that another process is closing and, unless it `waits`, those that a
   * settlement is busy with.
   */
  async begin(accountIds: readonly string[], untilDay: string, { waits }: { waits: boolean }): Promise<string[]> {
    const { rows } = await sql<{ account_id: string }>`
      select begin_closing(${accountIds}::uuid[], ${untilDay}::date, ${waits}) as account_id`.execute(this.#db)
    return rows.map((row) => row.account_id)
  }

  /** Sums up the days that are being closed; returns the accounts, less those that another process is closing. */
  async finish(accountIds: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ account_id: string }>`
      select finish_closing(${accountIds}::uuid[]) as account_id`.execute(this.#db)
    return rows.map((row) => row.account_id)
  }
}
