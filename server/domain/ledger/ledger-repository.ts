import type { Kysely, Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { BalanceRow } from '../../db/tables/balances-table.ts'
import type { LedgerTransferRow } from '../../db/tables/ledger-transfers-table.ts'
import type { Currency } from '../money.ts'
import type { Balance, LedgerTransfer, LedgerTransferKind } from './ledger.ts'

export interface Posting {
  transferId: string
  kind: LedgerTransferKind
  /** Signed from the customer's side; never zero. */
  amountNano: bigint
  /** The platform's side of the posting, such as `platform:grants`. */
  counterAccount: string
  reference: string | null
  reason: string | null
  createdAt: Date
}

/** A balance row that is locked until its transaction ends. */
export type LockedBalance = BalanceRow

export class LedgerRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  inTransaction<Result>(work: (ledger: LedgerTransaction) => Promise<Result>): Promise<Result> {
    return this.#db.transaction().execute((trx) => work(new LedgerTransaction(trx)))
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

  /** The UTC day whose DIEM allowance stands; undefined for an account that never had stake. */
  async epochDayOf(accountId: string): Promise<string | null | undefined> {
    const row = await this.#db
      .selectFrom('balances')
      .select('epoch_day')
      .where('account_id', '=', accountId)
      .where('currency', '=', 'diem')
      .executeTakeFirst()
    return row?.epoch_day
  }

  /** DIEM allowance posted from `since` on. */
  allowanceSince(accountId: string, since: Date): Promise<bigint> {
    return allowanceSince(this.#db, accountId, since)
  }

  /**
   * Up to `limit` transfers of each currency below the sequences that were reached, newest first: a backward scan of the
   * primary key for each, in one statement.
   */
  async listTransfers(
    accountId: string,
    page: { limit: number; beforeSequences: Record<Currency, bigint | null> },
  ): Promise<LedgerTransfer[]> {
    const ofCurrency = (currency: Currency) => {
      const query = this.#db
        .selectFrom('ledger_transfers')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('currency', '=', currency)
        .orderBy('sequence', 'desc')
        .limit(page.limit)
      const before = page.beforeSequences[currency]
      return before === null ? query : query.where('sequence', '<', before)
    }
    const rows = await this.#db
      .selectFrom(ofCurrency('usd').as('usd'))
      .selectAll()
      .unionAll(this.#db.selectFrom(ofCurrency('diem').as('diem')).selectAll())
      .execute()
    return rows.map(toLedgerTransfer)
  }

  /** The charges of requests, by request; ids as the database has them. */
  async findCharges(accountId: string, requestIds: readonly string[]): Promise<Map<string, LedgerTransfer>> {
    const rows = await this.#db
      .selectFrom('ledger_transfers')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('request_id', 'in', requestIds)
      .where('kind', '=', 'charge')
      .execute()
    return new Map(rows.map((row) => [row.request_id ?? '', toLedgerTransfer(row)]))
  }
}

/** Postings of one transaction; lock the balance first. */
export class LedgerTransaction {
  readonly #trx: Transaction<Database>

  constructor(trx: Transaction<Database>) {
    this.#trx = trx
  }

  async lockBalance(accountId: string, currency: Currency): Promise<LockedBalance | undefined> {
    return this.#trx
      .selectFrom('balances')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('currency', '=', currency)
      .forUpdate()
      .executeTakeFirst()
  }

  async createBalance(accountId: string, currency: Currency): Promise<void> {
    await this.#trx
      .insertInto('balances')
      .values({ account_id: accountId, currency, balance_nano: 0n, held_nano: 0n, sequence: 0n, epoch_day: null })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }

  /** The DIEM of a day: what the operator set, and what the account's wallets had staked when the day began. */
  async stakeOf(accountId: string, day: string): Promise<bigint> {
    const row = await this.#trx
      .selectFrom('accounts')
      .select(({ selectFrom }) => [
        'stake_diem_nano',
        selectFrom('wallet_stakes')
          .select(({ fn }) => fn.sum<string | null>('stake_nano').as('total'))
          .whereRef('wallet_stakes.account_id', '=', 'accounts.account_id')
          .where('day', '=', day)
          .as('of_wallets'),
      ])
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    return row === undefined ? 0n : row.stake_diem_nano + BigInt(row.of_wallets ?? 0)
  }

  async findByReference(accountId: string, reference: string): Promise<LedgerTransfer | undefined> {
    const row = await this.#trx
      .selectFrom('ledger_transfers')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('reference', '=', reference)
      .executeTakeFirst()
    return row === undefined ? undefined : toLedgerTransfer(row)
  }

  /** DIEM allowance posted from `since` on. */
  allowanceSince(accountId: string, since: Date): Promise<bigint> {
    return allowanceSince(this.#trx, accountId, since)
  }

  /** Keeps the stake by which a day's DIEM is granted; it only rises. */
  async recordStake(accountId: string, day: string, stakeNano: bigint): Promise<void> {
    if (stakeNano === 0n) return
    await this.#trx
      .insertInto('diem_stakes')
      .values({ account_id: accountId, day, stake_nano: stakeNano })
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'day'])
          .doUpdateSet({ stake_nano: stakeNano })
          .where('diem_stakes.stake_nano', '<', stakeNano),
      )
      .execute()
  }

  async setEpochDay(accountId: string, day: string): Promise<void> {
    await this.#trx
      .updateTable('balances')
      .set({ epoch_day: day })
      .where('account_id', '=', accountId)
      .where('currency', '=', 'diem')
      .execute()
  }

  /** Appends one transfer and moves the locked balance by it. */
  async post(balance: LockedBalance, posting: Posting): Promise<LedgerTransfer> {
    const { account_id, currency } = balance
    balance.balance_nano += posting.amountNano
    balance.sequence += 1n
    await this.#trx
      .updateTable('balances')
      .set({ balance_nano: balance.balance_nano, sequence: balance.sequence })
      .where('account_id', '=', account_id)
      .where('currency', '=', currency)
      .execute()
    const credit = posting.amountNano > 0n
    const row = await this.#trx
      .insertInto('ledger_transfers')
      .values({
        account_id,
        currency,
        sequence: balance.sequence,
        transfer_id: posting.transferId,
        kind: posting.kind,
        debit_account: credit ? posting.counterAccount : 'customer',
        credit_account: credit ? 'customer' : posting.counterAccount,
        amount_nano: credit ? posting.amountNano : -posting.amountNano,
        balance_after_nano: balance.balance_nano,
        request_id: null,
        reference: posting.reference,
        reason: posting.reason,
        created_at: posting.createdAt,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    return toLedgerTransfer(row)
  }
}

async function allowanceSince(db: Kysely<Database>, accountId: string, since: Date): Promise<bigint> {
  const row = await db
    .selectFrom('ledger_transfers')
    .select(({ fn }) => fn.sum<string | null>('amount_nano').as('total'))
    .where('account_id', '=', accountId)
    .where('currency', '=', 'diem')
    .where('kind', '=', 'diem_allowance')
    .where('created_at', '>=', since)
    .executeTakeFirst()
  return BigInt(row?.total ?? 0)
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
