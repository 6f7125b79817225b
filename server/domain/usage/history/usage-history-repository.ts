import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { LedgerTransfer } from '../../ledger/ledger.ts'
import { toLedgerTransfer } from '../../ledger/ledger-repository.ts'
import type { Currency } from '../../money.ts'

export interface ChargeScan {
  currency: Currency
  /** Charges after this sequence and before the next one. */
  afterSequence: bigint
  beforeSequence: bigint
  from: Date | null
  to: Date | null
  limit: number
}

export class UsageHistoryRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /**
   * Sequence of the first transfer at or after `instant`, or the next free one; found by binary search, because sequences
   * have no gaps. Assumes that times ascend.
   */
  async firstSequenceAt(accountId: string, currency: Currency, instant: Date): Promise<bigint> {
    const { rows } = await sql<{ low: bigint }>`
      with recursive search as (
        select 1::bigint as low, coalesce(max(sequence), 0) + 1 as high from balances
          where account_id = ${accountId} and currency = ${currency}
        union all
        select case when t.created_at < ${instant} then t.sequence + 1 else s.low end,
          case when t.created_at < ${instant} then s.high else t.sequence end
        from search s join ledger_transfers t
          on t.account_id = ${accountId} and t.currency = ${currency} and t.sequence = (s.low + s.high) / 2
        where s.low < s.high
      )
      select low from search order by high - low limit 1`.execute(this.#db)
    return rows[0]?.low ?? 1n
  }

  async listCharges(accountId: string, scan: ChargeScan): Promise<LedgerTransfer[]> {
    let query = this.#db
      .selectFrom('ledger_transfers')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('currency', '=', scan.currency)
      .where('sequence', '>', scan.afterSequence)
      .where('sequence', '<', scan.beforeSequence)
      .where('kind', '=', 'charge')
    if (scan.from !== null) query = query.where('created_at', '>=', scan.from)
    if (scan.to !== null) query = query.where('created_at', '<', scan.to)
    return (await query.orderBy('sequence').limit(scan.limit).execute()).map(toLedgerTransfer)
  }
}
