import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { IdSource } from '../ids.ts'
import type { Log } from '../log.ts'
import type { CorrectPaymentInput } from './inputs.ts'
import type { Payment } from './payment.ts'
import type { PaymentNetwork, TransferStanding } from './payment-network.ts'
import { NANO_USD_PER_ATOMIC } from './payment-options.ts'
import type { PaymentRecheckRepository } from './payment-recheck-repository.ts'
import type { PaymentRepository } from './payment-repository.ts'
import { leaseEnd, nextRecheck } from './payment-schedule.ts'

const TAKEN_AT_ONCE = 8
/** A single miss may come from a node that lags behind. */
const MISSING_CHECKS = 2

export interface PaymentRechecksDeps {
  rechecks: PaymentRecheckRepository
  payments: Pick<PaymentRepository, 'findById'>
  networks: readonly PaymentNetwork[]
  balanceFeed: { changed(accountId: string): void }
  gaugeDisappeared: (payments: number) => void
  clock: Clock
  ids: IdSource
  log: Log
}

export interface PaymentCorrection {
  payment: Payment
  creditedNanoUsd: bigint
  correctedNanoUsd: bigint
  outstandingNanoUsd: bigint
}

/** Checks credited transfers until no reorganization can undo them, and corrects the credit if one does. */
export class PaymentRechecks {
  readonly #deps: PaymentRechecksDeps

  constructor(deps: PaymentRechecksDeps) {
    this.#deps = deps
  }

  async run(): Promise<number> {
    const { rechecks, clock } = this.#deps
    const now = clock.now()
    const due = await rechecks.takeDue({ now, lease: leaseEnd(now), limit: TAKEN_AT_ONCE })
    await Promise.all(due.map((payment) => this.#check(payment)))
    return due.length
  }

  async watch(): Promise<void> {
    this.#deps.gaugeDisappeared(await this.#deps.rechecks.countDisappeared())
  }

  /**
   * Reverses the unspent credit of a payment whose transfer the chain no longer shows. A repeat returns the first
   * correction. Fails with `not_found`, and with `conflict` if the payment was not credited or the chain shows its
   * transfer.
   */
  async correct({ paymentId, reason }: CorrectPaymentInput): Promise<PaymentCorrection> {
    const { rechecks, payments, balanceFeed, clock, ids, log } = this.#deps
    const payment = await payments.findById(paymentId)
    if (payment === undefined) throw new DomainError('not_found', `The payment ${paymentId} does not exist`)
    if (payment.state !== 'credited') {
      throw new DomainError('conflict', `Payment ${paymentId} is ${payment.state}: there is no credit to correct`)
    }
    if (payment.correctedNanoUsd !== null) return toCorrection(payment)
    await this.#assertMissing(payment)
    const corrected = await rechecks.correct(paymentId, { transferId: ids.uuid(), reason, now: clock.now() })
    if (corrected === undefined) throw new DomainError('not_found', `The payment ${paymentId} does not exist`)
    const correction = toCorrection(corrected)
    if (corrected.accountId !== null) balanceFeed.changed(corrected.accountId)
    log.warn('the credit of a payment was corrected', {
      paymentId,
      correctedNanoUsd: String(correction.correctedNanoUsd),
      outstandingNanoUsd: String(correction.outstandingNanoUsd),
    })
    return correction
  }

  async #assertMissing(payment: Payment): Promise<void> {
    const standing = await this.#standingOf(payment).catch((cause: unknown) => {
      throw new DomainError('unavailable', "The chain's node is temporarily unreachable; retry shortly", {
        retryAfterSeconds: 5,
        cause,
      })
    })
    if (standing.kind === 'missing') return
    throw new DomainError(
      'conflict',
      `The chain shows the transfer of payment ${payment.id}: its credit is correct. To take back money for another reason, use \`sluice account grant\` with a negative amount`,
    )
  }

  async #check(payment: Payment): Promise<void> {
    const { rechecks, clock, log } = this.#deps
    const recheckAt = nextRecheck(payment, clock.now())
    const facts = { paymentId: payment.id, network: payment.signed.network, transactionId: payment.transactionId }
    try {
      const standing = await this.#standingOf(payment)
      if (standing.kind === 'missing') {
        const first = await rechecks.miss(payment.id, { now: clock.now(), recheckAt, checks: MISSING_CHECKS })
        if (first) log.error('the transfer of a credited payment disappeared: see `sluice x402 correct`', facts)
        return
      }
      if (payment.disappearedAt !== null) log.warn('the transfer of a credited payment is on the chain again', facts)
      const moved = standing.kind === 'moved' ? standing.transfer : undefined
      await rechecks.confirm(payment.id, standing.kind === 'final' ? null : recheckAt, moved)
    } catch (error) {
      log.warn('a credited payment could not be checked again; this is retried later', { ...facts, error })
      await rechecks.postpone(payment.id, recheckAt)
    }
  }

  async #standingOf({
    signed,
    transactionId,
    transferIndex,
    submittedTransactionIds,
    receivedAt,
  }: Payment): Promise<TransferStanding> {
    const network = this.#deps.networks.find((candidate) => candidate.network === signed.network)
    if (network === undefined) throw new Error(`no network ${signed.network} is configured`)
    if (transactionId === null || transferIndex === null) return { kind: 'missing' }
    return network.recheck(
      signed,
      { transactionId, transferIndex },
      { transactionIds: submittedTransactionIds, receivedAt },
    )
  }
}

function toCorrection(payment: Payment): PaymentCorrection {
  const creditedNanoUsd = (payment.transferAtomic ?? 0n) * NANO_USD_PER_ATOMIC
  const correctedNanoUsd = payment.correctedNanoUsd ?? 0n
  return { payment, creditedNanoUsd, correctedNanoUsd, outstandingNanoUsd: creditedNanoUsd - correctedNanoUsd }
}
