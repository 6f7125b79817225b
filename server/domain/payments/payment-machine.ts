import type { Clock } from '../clock.ts'
import type { IdSource } from '../ids.ts'
import type { Log } from '../log.ts'
import { isUnresolved, type Payment, type PaymentState, type PaymentStep } from './payment.ts'
import type { FeeReservation, PaymentFees } from './payment-fees.ts'
import type { ChainOutcome, LookUpHints, PaymentNetwork, SettleOutcome } from './payment-network.ts'
import { FEE_BUDGET_SPENT } from './payment-refusal.ts'
import type { PaymentRepository } from './payment-repository.ts'
import { leaseEnd, nextWatchAt } from './payment-schedule.ts'
import type { SettlementFailures } from './settlement-failures.ts'

const LOOK_PAUSE_MS = 500

export interface PaymentMachineDeps {
  payments: PaymentRepository
  networks: readonly PaymentNetwork[]
  fees: PaymentFees
  failures: Pick<SettlementFailures, 'record'>
  balanceFeed: { changed(accountId: string): void }
  countStep: (network: string, state: PaymentState) => void
  clock: Clock
  ids: IdSource
  log: Log
  wait: (milliseconds: number) => Promise<void>
  /** How long our own node may take to show a transfer reported as settled, before the reconciler takes over. */
  confirmSeconds: number
}

export interface PaymentRun {
  /** The payment in the last state reached; never rejects. */
  ended: Promise<Payment>
  /** Whether this run found the payment valid and unused, so that nobody else can have presented it before. */
  verified: boolean
}

/**
 * Moves one payment from state to state. Each result is stored before the next external step begins, so that after a
 * crash at any point the reconciler continues from the row. Only our own node's evidence makes a payment `settled`, and
 * only a settled payment is credited.
 */
export class PaymentMachine {
  readonly #deps: PaymentMachineDeps
  readonly #running = new Map<string, PaymentRun>()

  constructor(deps: PaymentMachineDeps) {
    this.#deps = deps
  }

  get running(): ReadonlyMap<string, PaymentRun> {
    return this.#running
  }

  /** Moves the payment as far as possible now. A process has one run per payment: a second call joins the first. */
  run(payment: Payment): PaymentRun {
    const standing = this.#running.get(payment.id)
    if (standing !== undefined) return standing
    const run: PaymentRun = { ended: Promise.resolve(payment), verified: false }
    run.ended = this.#drive(payment, run).finally(() => this.#running.delete(payment.id))
    this.#running.set(payment.id, run)
    return run
  }

  async #drive(payment: Payment, run: PaymentRun): Promise<Payment> {
    let current = payment
    try {
      for (;;) {
        const next = await this.#next(current, run)
        // Another process may have moved it further meanwhile.
        if (next === undefined) return isUnresolved(current.state) ? await this.#deps.payments.get(current.id) : current
        current = next
        // Somebody else may still pay it; that is checked later, and not at all if the payer did not sign.
        if (next.state === 'refused' || next.state === 'failed') return next
      }
    } catch (error) {
      this.#deps.log.warn('a payment cannot continue now; the reconciler retries it', {
        paymentId: current.id,
        state: current.state,
        error,
      })
      return current
    }
  }

  /** Moves the payment one state further; undefined if nothing more can be done now. */
  async #next(payment: Payment, run: PaymentRun): Promise<Payment | undefined> {
    switch (payment.state) {
      case 'received':
        return this.#verify(payment, run)
      case 'verified':
        return this.#settle(payment)
      case 'settling':
        return this.#resume(payment)
      case 'refused':
      case 'failed':
        return this.#conclude(payment, await this.#lookUp(payment))
      case 'settled':
        return this.#credit(payment)
      case 'credited':
      case 'dead':
        return undefined
    }
  }

  async #verify(payment: Payment, run: PaymentRun): Promise<Payment | undefined> {
    const verdict = await this.#networkOf(payment)
      .verify(payment.signed)
      .catch((error: unknown) => ({ error }))
    if ('error' in verdict) return this.#giveUp(payment, verdict.error)
    if (verdict.valid) {
      run.verified = true
      return this.#step(payment, { to: 'verified' })
    }
    const { reason, mayBePaid } = verdict
    if (!mayBePaid) return this.#step(payment, { to: 'refused', reason }, null)
    // A payment that the chain would reject now may already be on it: sent by a front-runner, or by us before a crash.
    const outcome = await this.#lookUp(payment)
    return (await this.#conclude(payment, outcome)) ?? this.#step(payment, { to: 'refused', reason })
  }

  /** A payment that can never be paid needs no verification, which a wallet's own code may prevent forever. */
  async #giveUp(payment: Payment, error: unknown): Promise<Payment | undefined> {
    const outcome = await this.#lookUp(payment)
    if (outcome.kind !== 'impossible') throw error
    return this.#conclude(payment, outcome)
  }

  async #settle(payment: Payment): Promise<Payment | undefined> {
    const { network } = payment.signed
    if (!(await this.#deps.fees.hasLeft(network))) return this.#holdBack(payment)
    const settling = await this.#step(payment, { to: 'settling' })
    if (settling === undefined) return undefined
    const wasTold = settling.submittedTransactionIds.length > 0
    const fees = this.#deps.fees.open(network)
    const outcome = await this.#networkOf(payment).settle(payment.signed, this.#teller(settling), fees.reserve)
    await this.#account(fees, outcome, settling.submittedTransactionIds.length > 0)
    if (outcome.kind === 'settled') return this.#confirm(settling)
    const reason = fees.exceeded ? FEE_BUDGET_SPENT : outcome.reason
    this.#deps.log.warn('a payment was not settled', { paymentId: payment.id, outcome: outcome.kind, reason })
    const found = await this.#lookUp(settling)
    const concluded = await this.#conclude(settling, found)
    if (concluded !== undefined || outcome.kind === 'unknown') return concluded
    // This attempt certainly failed; a transaction of an earlier one may still be included.
    const open = found.kind === 'pending' && (found.sent === true || (found.sent === 'perhaps' && wasTold))
    return open ? undefined : this.#step(settling, { to: 'failed', reason })
  }

  /** Nothing was signed for it, so its payer may submit it again; an open attempt waits for the next day. */
  async #holdBack(payment: Payment): Promise<Payment | undefined> {
    if (payment.state === 'settling') return undefined
    return this.#step(payment, { to: 'refused', reason: FEE_BUDGET_SPENT })
  }

  /** A transaction that may have been sent stays reserved at its maximum price, until the chain shows the actual cost. */
  async #account(fees: FeeReservation, outcome: SettleOutcome, wasSent: boolean): Promise<void> {
    const cost = outcome.kind === 'unknown' ? undefined : (outcome.fee ?? (wasSent ? undefined : 0n))
    if (cost !== undefined) await fees.settle(cost)
  }

  /**
   * After a crash or a timeout: checks the chain first, settles again only if no transaction is pending, and raises the
   * fee of a pending one.
   */
  async #resume(payment: Payment): Promise<Payment | undefined> {
    const outcome = await this.#lookUp(payment)
    if (outcome.kind !== 'pending') return this.#conclude(payment, outcome)
    if (outcome.sent !== true) return this.#settle(payment)
    const { reserve } = this.#deps.fees.open(payment.signed.network)
    await this.#networkOf(payment).raiseFee?.(hintsOf(payment), this.#teller(payment), reserve)
    return undefined
  }

  /** Requires our own node to show the transfer, whoever reported it as settled. */
  async #confirm(payment: Payment): Promise<Payment | undefined> {
    const { clock, wait, confirmSeconds } = this.#deps
    const deadlineMs = clock.nowMs() + confirmSeconds * 1_000
    for (;;) {
      const outcome = await this.#lookUp(payment)
      if (outcome.kind !== 'pending') return this.#conclude(payment, outcome)
      if (clock.nowMs() >= deadlineMs) return undefined
      await wait(LOOK_PAUSE_MS)
    }
  }

  async #conclude(payment: Payment, outcome: ChainOutcome): Promise<Payment | undefined> {
    if (outcome.kind === 'paid') {
      const { transfer } = outcome
      if (transfer.amountAtomic !== payment.signed.amountAtomic) {
        throw new Error(`the chain moved ${transfer.amountAtomic}, not the signed ${payment.signed.amountAtomic}`)
      }
      return this.#step(payment, { to: 'settled', transfer })
    }
    if (outcome.kind === 'impossible') return this.#step(payment, { to: 'dead', reason: outcome.reason }, null)
    return undefined
  }

  async #credit(payment: Payment): Promise<Payment> {
    const { payments, ids, clock, countStep, balanceFeed, log } = this.#deps
    const credited = await payments.credit(payment, { transferId: ids.uuid(), now: clock.now() })
    const { network } = credited.signed
    const amountAtomic = credited.transferAtomic
    countStep(network, 'credited')
    if (credited.accountId !== null) balanceFeed.changed(credited.accountId)
    log.info('a payment was credited', { paymentId: payment.id, network, amountAtomic: String(amountAtomic) })
    return credited
  }

  async #lookUp(payment: Payment): Promise<ChainOutcome> {
    const { signed, clientNetwork } = payment
    const outcome = await this.#networkOf(payment).lookUp(signed, hintsOf(payment))
    const failed = outcome.kind === 'paid' ? undefined : outcome.failedTransactionIds
    if (failed !== undefined) {
      await this.#deps.failures.record({ network: signed.network, payer: signed.payer, clientNetwork }, failed)
    }
    return outcome
  }

  /** Stores each transaction before it is sent; if the payment has moved on meanwhile, none is sent. */
  #teller(payment: Payment): (transactionId: string) => Promise<void> {
    return async (transactionId) => {
      const told = await this.#deps.payments.announce(payment, transactionId, this.#lease())
      if (told === undefined) throw new Error('another process took the payment further meanwhile')
      payment.transactionId = told.transactionId
      payment.submittedTransactionIds = told.submittedTransactionIds
    }
  }

  async #step(payment: Payment, step: PaymentStep, checkAt?: null): Promise<Payment | undefined> {
    const { payments, clock, countStep } = this.#deps
    const now = clock.now()
    const watched = step.to === 'refused' || step.to === 'failed'
    const at = checkAt === null ? null : watched ? nextWatchAt(payment, now) : leaseEnd(now)
    const next = await payments.step(payment, step, { now, checkAt: at })
    if (next !== undefined) countStep(payment.signed.network, step.to)
    return next
  }

  #lease(): { now: Date; checkAt: Date } {
    const now = this.#deps.clock.now()
    return { now, checkAt: leaseEnd(now) }
  }

  #networkOf(payment: Payment): PaymentNetwork {
    const found = this.#deps.networks.find(({ network }) => network === payment.signed.network)
    if (found === undefined) throw new Error(`no network ${payment.signed.network} is configured`)
    return found
  }
}

function hintsOf({ submittedTransactionIds, receivedAt }: Payment): LookUpHints {
  return { transactionIds: submittedTransactionIds, receivedAt }
}
