import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { LedgerTransfer } from '../../ledger/ledger.ts'
import { toLedgerTransfer } from '../../ledger/ledger-repository.ts'
import type { Currency } from '../../money.ts'

export interface ChargeScan {
  currency: Currency
  /** Charges behind this sequence and before that one. */
  afterSequence: bigint
  beforeSequence: bigint
  from: Date | null
  to: Date | null
  limit: number
}

/** Charges of the ledger in the order in which they were posted. */
export class UsageHistoryRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /**
   * Where the first transfer at or after `instant` stands, or would stand, for transfers whose times rise: a binary
   * search of the chain, whose sequences have no gaps.
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
