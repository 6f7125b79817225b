import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { LedgerTransferRow } from '../../db/tables/ledger-transfers-table.ts'

/** One ledger entry of an account in USD, with what it paid for. */
export interface WalletPosting {
  transferId: string
  amountNano: bigint
  isCredit: boolean
  balanceAfterNano: bigint
  kind: LedgerTransferRow['kind']
  requestId: string | null
  sku: string | null
  createdAt: Date
}

export class WalletStatementRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /**
   * Newest first. Entries are numbered without gaps, so an offset is a position in the primary key and costs nothing. A
   * request is searched for on the day of its charge and the day before, one of which is its admission day.
   */
  async listUsd(accountId: string, { limit, offset }: { limit: number; offset: number }): Promise<WalletPosting[]> {
    const { rows } = await sql<WalletPosting>`
      select t.transfer_id as "transferId", t.amount_nano as "amountNano", t.credit_account = 'customer' as "isCredit",
        t.balance_after_nano as "balanceAfterNano", t.kind, t.request_id as "requestId", t.created_at as "createdAt", u.sku
      from ledger_transfers t
      left join lateral (
        select u.sku from usage_events u
        where u.account_id = t.account_id and u.request_id = t.request_id
          and u.day between (t.created_at at time zone 'UTC')::date - 1 and (t.created_at at time zone 'UTC')::date
        limit 1
      ) u on t.request_id is not null
      where t.account_id = ${accountId}::uuid and t.currency = 'usd' and t.sequence <= (
        select b.sequence - ${offset}::bigint from balances b where b.account_id = ${accountId}::uuid and b.currency = 'usd'
      )
      order by t.sequence desc limit ${limit}`.execute(this.#db)
    return rows
  }
}
