import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { LedgerTransferRow } from '../../db/tables/ledger-transfers-table.ts'
import { itemAt } from '../item-at.ts'
import type { Currency } from '../money.ts'
import type { Balance, LedgerTransfer } from './ledger.ts'

/** Process data for every ledger entry; the database's clock decides the day. */
export interface Posting {
  at: Date
  newId: () => string
}

export interface GrantPosting {
  transferId: string
  accountId: string
  /** Negative for a correction. */
  amountNano: bigint
  reference: string | null
  reason: string
  at: Date
}

export type GrantResult =
  | { outcome: 'posted' | 'repeated'; transfer: LedgerTransfer }
  | { outcome: 'insufficient'; freeNano: bigint }
  | { outcome: 'account_missing' }

export interface DiemRest {
  accountId: string
  requestId: string
  /** The day of the hold's admission. */
  day: string
  restNano: bigint
}

type GrantRow = LedgerTransferRow & { outcome: GrantResult['outcome']; free_nano: bigint }

interface DecidedRow {
  instant: Date
}

export class LedgerRepository {
  readonly #db: Kysely<Database>
  readonly #reports: Kysely<Database>

  constructor(db: Kysely<Database>, reports = db) {
    this.#db = db
    this.#reports = reports
  }

  /** Posts a grant or correction in one statement, so that no balance lock spans a round trip. */
  async grant({ transferId, accountId, amountNano, reference, reason, at }: GrantPosting): Promise<GrantResult> {
    const { rows } = await sql<GrantRow>`
      select g.outcome, g.free_nano, (g.transfer).* from grant_usd(${accountId}::uuid, ${transferId}::uuid,
        ${amountNano.toString()}::bigint, ${reference}, ${reason}, ${at}) g`.execute(this.#db)
    const row = itemAt(rows, 0)
    switch (row.outcome) {
      case 'account_missing':
        return { outcome: row.outcome }
      case 'insufficient':
        return { outcome: row.outcome, freeNano: row.free_nano }
      default:
        return { outcome: row.outcome, transfer: toLedgerTransfer(row) }
    }
  }

  async balancesOf(accountIds: readonly string[]): Promise<Map<string, Balance[]>> {
    const rows = await this.#db
      .selectFrom('balances')
      .selectAll()
      .where('account_id', 'in', accountIds)
      .orderBy('currency', 'desc')
      .execute()
    const balances = new Map<string, Balance[]>()
    for (const row of rows) {
      const list = balances.get(row.account_id) ?? []
      list.push({ currency: row.currency, balanceNanoUsd: row.balance_nano, heldNanoUsd: row.held_nano })
      balances.set(row.account_id, list)
    }
    return balances
  }

  /** Grants the current day's DIEM and expires the previous day's; returns the time that decided the day. */
  async startDiemDay(accountId: string, { at, newId }: Posting): Promise<Date> {
    const { rows } = await sql<DecidedRow>`
      select start_diem_day(${accountId}::uuid, ${at}, ${newId()}::uuid, ${newId()}::uuid) as instant`.execute(this.#db)
    return decidedInstant(rows)
  }

  /**
   * Grants the difference if the account's stake of the current day exceeds its allowance; returns the time that decided
   * the day.
   */
  async grantDiemRise(accountId: string, { at, newId }: Posting): Promise<Date> {
    const newIds = [newId(), newId(), newId()]
    const { rows } = await sql<DecidedRow>`
      select grant_diem_rise(${accountId}::uuid, ${at}, ${newIds}::uuid[]) as instant`.execute(this.#db)
    return decidedInstant(rows)
  }

  /** Expires up to `restNano` left by a hold of `day`; only once per request. */
  async expireDiemRest(rest: DiemRest, { at, newId }: Posting): Promise<void> {
    await sql`select expire_diem_rest(${rest.accountId}::uuid, ${rest.requestId}::uuid, ${rest.day}::date,
      ${rest.restNano.toString()}::bigint, ${at}, ${newId()}::uuid)`.execute(this.#db)
  }

  /** DIEM allowance posted since `since`. */
  async allowanceSince(accountId: string, since: Date): Promise<bigint> {
    const row = await this.#db
      .selectFrom('ledger_transfers')
      .select(({ fn }) => fn.sum<string | null>('amount_nano').as('total'))
      .where('account_id', '=', accountId)
      .where('currency', '=', 'diem')
      .where('kind', '=', 'diem_allowance')
      .where('created_at', '>=', since)
      .executeTakeFirst()
    return BigInt(row?.total ?? 0)
  }

  /**
   * Up to `limit` transfers of each currency before the given sequences, newest first: one backward primary key scan per
   * currency, in one statement.
   */
  async listTransfers(
    accountId: string,
    page: { limit: number; beforeSequences: Record<Currency, bigint | null> },
  ): Promise<LedgerTransfer[]> {
    const ofCurrency = (currency: Currency) => {
      const query = this.#reports
        .selectFrom('ledger_transfers')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('currency', '=', currency)
        .orderBy('sequence', 'desc')
        .limit(page.limit)
      const before = page.beforeSequences[currency]
      return before === null ? query : query.where('sequence', '<', before)
    }
    const rows = await this.#reports
      .selectFrom(ofCurrency('usd').as('usd'))
      .selectAll()
      .unionAll(this.#reports.selectFrom(ofCurrency('diem').as('diem')).selectAll())
      .execute()
    return rows.map(toLedgerTransfer)
  }

  /** The charges of requests, by request; ids as in the database. */
  async findCharges(accountId: string, requestIds: readonly string[]): Promise<Map<string, LedgerTransfer>> {
    const rows = await this.#reports
      .selectFrom('ledger_transfers')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('request_id', 'in', requestIds)
      .where('kind', '=', 'charge')
      .execute()
    return new Map(rows.map((row) => [row.request_id ?? '', toLedgerTransfer(row)]))
  }
}

function decidedInstant(rows: readonly DecidedRow[]): Date {
  return itemAt(rows, 0).instant
}

export function toLedgerTransfer(row: LedgerTransferRow): LedgerTransfer {
  return {
    id: row.transfer_id,
    accountId: row.account_id,
    currency: row.currency,
    sequence: row.sequence,
    kind: row.kind,
    amountNanoUsd: row.credit_account === 'customer' ? row.amount_nano : -row.amount_nano,
    balanceAfterNanoUsd: row.balance_after_nano,
    requestId: row.request_id === null ? null : row.request_id.replaceAll('-', ''),
    reference: row.reference,
    reason: row.reason,
    createdAt: row.created_at,
  }
}
