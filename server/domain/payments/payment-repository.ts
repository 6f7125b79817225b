import { type Kysely, sql, type UpdateObject } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { PaymentRow } from '../../db/tables/payments-table.ts'
import { accountIdOf } from '../wallets/wallet-account-id.ts'
import type { WalletAddress } from '../wallets/wallet-address.ts'
import { type Payment, type PaymentState, type PaymentStep, UNRESOLVED_STATES } from './payment.ts'
import { NANO_USD_PER_ATOMIC } from './payment-options.ts'
import { toPayment, toRow } from './payment-row.ts'

/** The states in which a step may start; a row that moved on meanwhile is not changed. */
const STARTS: Record<PaymentStep['to'], readonly PaymentState[]> = {
  verified: ['received'],
  settling: ['verified', 'settling'],
  settled: ['received', 'verified', 'settling', 'refused', 'failed'],
  refused: ['received', 'verified'],
  failed: ['settling'],
  dead: ['received', 'verified', 'settling', 'refused', 'failed'],
}

export interface StepTimes {
  now: Date
  /** When the reconciler checks it next; null if it ended. */
  checkAt: Date | null
}

export interface StateCount {
  network: string
  state: PaymentState
  payments: number
  amountAtomic: bigint
  oldestAt: Date
}

/**
 * Identifies the payment by its exact form, because the row may meanwhile hold another variant with a different
 * signature.
 */
export type PaymentRef = Pick<Payment, 'id' | 'digest'>

/** Which payments the reconciler takes; unverified ones have a separate queue. */
export type PaymentQueue = 'verified' | 'unverified'

export class PaymentRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  async find(network: string, claimKey: string): Promise<Payment | undefined> {
    const row = await this.#db
      .selectFrom('payments')
      .selectAll()
      .where('network', '=', network)
      .where('claim_key', '=', claimKey)
      .executeTakeFirst()
    return row === undefined ? undefined : toPayment(row)
  }

  /** The payer's payment under an idempotency key, unless it failed. */
  async findKeyed({ chain, address }: WalletAddress, idempotencyKey: string): Promise<Payment | undefined> {
    const row = await this.#db
      .selectFrom('payments')
      .selectAll()
      .where('payer_chain', '=', chain)
      .where('payer_address', '=', address)
      .where('idempotency_key', '=', idempotencyKey)
      .where('state', 'not in', ['refused', 'failed', 'dead'])
      .executeTakeFirst()
    return row === undefined ? undefined : toPayment(row)
  }

  async get(paymentId: string): Promise<Payment> {
    const found = await this.findById(paymentId)
    if (found === undefined) throw new Error(`there is no payment ${paymentId}`)
    return found
  }

  async findById(paymentId: string): Promise<Payment | undefined> {
    const query = this.#db.selectFrom('payments').selectAll().where('payment_id', '=', paymentId)
    const row = await query.executeTakeFirst()
    return row === undefined ? undefined : toPayment(row)
  }

  /** Inserts the claim; undefined if it, or the payer's idempotency key, already exists. */
  async claim(payment: Payment, times: StepTimes): Promise<Payment | undefined> {
    const row = await this.#db
      .insertInto('payments')
      .values(toRow(payment, times))
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? undefined : toPayment(row)
  }

  /**
   * Restarts a refused or failed payment in the newly submitted form; undefined if another request did. Its earlier
   * transactions can no longer arrive, or it would not have failed.
   */
  async claimAgain(before: Payment, payment: Payment, times: StepTimes): Promise<Payment | undefined> {
    const { payment_id: _, received_at: __, ...row } = toRow(payment, times)
    return this.#update(before, ['refused', 'failed'], row)
  }

  /** Runs one step of the machine; undefined if the payment is no longer in a state where the step may start. */
  async step(payment: PaymentRef, step: PaymentStep, { now, checkAt }: StepTimes): Promise<Payment | undefined> {
    return this.#update(payment, STARTS[step.to], {
      state: step.to,
      updated_at: now,
      look_at: checkAt,
      ...('reason' in step ? { reason: step.reason } : {}),
      ...('transfer' in step
        ? {
            transaction_id: step.transfer.transactionId,
            transfer_index: step.transfer.transferIndex,
            transfer_atomic: step.transfer.amountAtomic,
            reason: null,
          }
        : {}),
    })
  }

  /** Stores a transaction that is about to be sent or was just sent; undefined if the payment moved on meanwhile. */
  async announce(
    payment: PaymentRef,
    transactionId: string,
    { now, checkAt }: StepTimes,
  ): Promise<Payment | undefined> {
    return this.#update(payment, ['settling'], {
      transaction_id: transactionId,
      told_transaction_ids: sql<
        string[]
      >`array_append(array_remove(told_transaction_ids, ${transactionId}), ${transactionId})`,
      updated_at: now,
      look_at: checkAt,
    })
  }

  /**
   * Credits and changes the state in one statement, so that a settled payment is credited only once, however many
   * processes try.
   */
  async credit(
    { id, digest, signed }: Payment,
    { transferId, now }: { transferId: string; now: Date },
  ): Promise<Payment> {
    const ownId = accountIdOf(signed.payer)
    const { rows } = await sql<PaymentRow>`select * from credit_payment(${id}::uuid, ${digest}, ${ownId}::uuid,
      ${NANO_USD_PER_ATOMIC.toString()}::bigint, ${now}, ${transferId}::uuid)`.execute(this.#db)
    const [row] = rows
    if (row === undefined) throw new Error('the payment was replaced by another form of it')
    return toPayment(row)
  }

  /** Claims due payments until `lease`, so that no other process takes them too. */
  async takeDue(
    queue: PaymentQueue,
    { now, lease, limit }: { now: Date; lease: Date; limit: number },
  ): Promise<Payment[]> {
    const rows = await this.#db
      .updateTable('payments')
      .set(({ eb }) => ({ look_at: lease, looks: eb('looks', '+', 1) }))
      .where('payment_id', 'in', (query) =>
        query
          .selectFrom('payments')
          .select('payment_id')
          .where('look_at', '<=', now)
          .where('state', queue === 'unverified' ? '=' : '<>', 'received')
          // Payments left by a dead process come before those that were checked without result.
          .$if(queue === 'unverified', (due) => due.orderBy('looks'))
          .orderBy('look_at')
          .limit(limit)
          .forUpdate()
          .skipLocked(),
      )
      .returningAll()
      .execute()
    return rows.map(toPayment)
  }

  /** Renews the leases of payments in progress, against the reconcilers of all processes. */
  async renew(paymentIds: readonly string[], lease: Date): Promise<void> {
    await this.#db
      .updateTable('payments')
      .set({ look_at: lease })
      .where('payment_id', 'in', paymentIds)
      .where('state', 'in', UNRESOLVED_STATES)
      .execute()
  }

  /** Makes every unresolved payment due now, even if leased; returns how many. */
  async hasten(now: Date): Promise<number> {
    const result = await this.#db
      .updateTable('payments')
      .set({ look_at: now })
      .where('look_at', 'is not', null)
      .executeTakeFirst()
    return Number(result.numUpdatedRows)
  }

  async putOff(payment: PaymentRef, checkAt: Date | null): Promise<void> {
    await this.#db
      .updateTable('payments')
      .set({ look_at: checkAt })
      .where('payment_id', '=', payment.id)
      .where('digest', '=', payment.digest)
      .where('look_at', 'is not', null)
      .execute()
  }

  /** Deletes payments that can never be paid and never reached a chain; a repeat would be rejected again. */
  async forgetDead(before: Date): Promise<void> {
    await this.#db
      .deleteFrom('payments')
      .where('look_at', 'is', null)
      .where('state', 'in', ['dead', 'refused'])
      .where('updated_at', '<', before)
      .execute()
  }

  /** Clears expired idempotency keys and client addresses: the keys may be reused. */
  async releaseKeys(before: Date): Promise<void> {
    await this.#db
      .updateTable('payments')
      .set({ idempotency_key: null, client_network: null })
      .where((eb) => eb.or([eb('idempotency_key', 'is not', null), eb('client_network', 'is not', null)]))
      .where('received_at', '<', before)
      .execute()
  }

  /** Uses the index of unfinished payments, which stays short however many have ended. */
  async countUnresolved(): Promise<{ unresolved: number; oldestAt: Date | null }> {
    const row = await this.#db
      .selectFrom('payments')
      .select(({ fn }) => [fn.countAll<bigint>().as('unresolved'), fn.min<Date | null>('received_at').as('oldest')])
      .where('look_at', 'is not', null)
      .where('state', 'in', UNRESOLVED_STATES)
      .executeTakeFirstOrThrow()
    return { unresolved: Number(row.unresolved), oldestAt: row.oldest }
  }

  async countByState(): Promise<StateCount[]> {
    const rows = await this.#db
      .selectFrom('payments')
      .select(['network', 'state'])
      .select(({ fn }) => [
        fn.countAll<bigint>().as('payments'),
        fn.sum<string>('amount_atomic').as('amount'),
        fn.min('received_at').as('oldest'),
      ])
      .groupBy(['network', 'state'])
      .orderBy('network')
      .execute()
    return rows.map((row) => ({
      network: row.network,
      state: row.state,
      payments: Number(row.payments),
      amountAtomic: BigInt(row.amount),
      oldestAt: row.oldest,
    }))
  }

  /** Payments received up to `receivedBefore`, newest first. */
  async list(filter: {
    states: readonly PaymentState[]
    disappeared: boolean
    limit: number
    before: { receivedAt: Date; id: string } | null
  }): Promise<Payment[]> {
    let query = this.#db.selectFrom('payments').selectAll().where('state', 'in', filter.states)
    if (filter.disappeared) query = query.where('disappeared_at', 'is not', null)
    if (filter.before !== null) {
      const { receivedAt, id } = filter.before
      query = query.where(sql<boolean>`(received_at, payment_id) < (${receivedAt}, ${id}::uuid)`)
    }
    const rows = await query.orderBy('received_at', 'desc').orderBy('payment_id', 'desc').limit(filter.limit).execute()
    return rows.map(toPayment)
  }

  async #update(
    payment: PaymentRef,
    from: readonly PaymentState[],
    values: UpdateObject<Database, 'payments'>,
  ): Promise<Payment | undefined> {
    const row = await this.#db
      .updateTable('payments')
      .set(values)
      .where('payment_id', '=', payment.id)
      .where('digest', '=', payment.digest)
      .where('state', 'in', from)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? undefined : toPayment(row)
  }
}
