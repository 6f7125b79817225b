import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { PaymentRow } from '../../db/tables/payments-table.ts'
import type { Payment } from './payment.ts'
import type { ChainTransfer } from './payment-network.ts'
import { toPayment } from './payment-row.ts'

/** Credited payments whose transfer a reorganization could still undo. */
export class PaymentRecheckRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Claims credited payments whose check is due, until `lease`. */
  async takeDue({ now, lease, limit }: { now: Date; lease: Date; limit: number }): Promise<Payment[]> {
    const rows = await this.#db
      .updateTable('payments')
      .set(({ eb }) => ({ recheck_at: lease, rechecks: eb('rechecks', '+', 1) }))
      .where('payment_id', 'in', (query) =>
        query
          .selectFrom('payments')
          .select('payment_id')
          .where('recheck_at', '<=', now)
          .orderBy('recheck_at')
          .limit(limit)
          .forUpdate()
          .skipLocked(),
      )
      .returningAll()
      .execute()
    return rows.map(toPayment)
  }

  /** Records that the chain shows the transfer, possibly moved; `recheckAt` is null if it is final. */
  async confirm(paymentId: string, recheckAt: Date | null, moved?: ChainTransfer): Promise<void> {
    await this.#db
      .updateTable('payments')
      .set({
        recheck_at: recheckAt,
        missing_checks: 0,
        disappeared_at: null,
        ...(moved === undefined ? {} : { transaction_id: moved.transactionId, transfer_index: moved.transferIndex }),
      })
      .where('payment_id', '=', paymentId)
      .where('state', '=', 'credited')
      .where('corrected_at', 'is', null)
      .execute()
  }

  /** Checks again later, because nothing is known about the transfer now. */
  async postpone(paymentId: string, recheckAt: Date | null): Promise<void> {
    const payment = this.#db.updateTable('payments').set({ recheck_at: recheckAt }).where('payment_id', '=', paymentId)
    await payment.where('recheck_at', 'is not', null).execute()
  }

  /** Records that the chain does not show the transfer. Returns true when it is first known to have disappeared. */
  async miss(
    paymentId: string,
    { now, recheckAt, checks }: { now: Date; recheckAt: Date | null; checks: number },
  ): Promise<boolean> {
    const { rows } = await sql<{ first: boolean }>`
      update payments p set recheck_at = ${recheckAt}::timestamptz, missing_checks = p.missing_checks + 1,
        disappeared_at = case when p.missing_checks + 1 >= ${checks} then coalesce(p.disappeared_at, ${now}::timestamptz) end
      where p.payment_id = ${paymentId}::uuid and p.state = 'credited' and p.corrected_at is null
      returning p.missing_checks = ${checks} as first`.execute(this.#db)
    return rows[0]?.first === true
  }

  async countDisappeared(): Promise<number> {
    const row = await this.#db
      .selectFrom('payments')
      .select(({ fn }) => fn.countAll<bigint>().as('count'))
      .where('disappeared_at', 'is not', null)
      .where('corrected_at', 'is', null)
      .executeTakeFirstOrThrow()
    return Number(row.count)
  }

  /** Reverses the unspent part of the credit, only once; undefined for an unknown payment. */
  async correct(
    paymentId: string,
    { transferId, reason, now }: { transferId: string; reason: string; now: Date },
  ): Promise<Payment | undefined> {
    const { rows } = await sql<PaymentRow>`select * from correct_payment(
      ${paymentId}::uuid, ${transferId}::uuid, ${reason}, ${now}::timestamptz)`.execute(this.#db)
    return rows[0] === undefined ? undefined : toPayment(rows[0])
  }
}
