import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Payment } from './payment.ts'
import type { PaymentMachine } from './payment-machine.ts'
import { NOT_VERIFIED } from './payment-refusal.ts'
import type { PaymentQueue, PaymentRepository } from './payment-repository.ts'
import { leaseEnd, nextCheckAt, UNVERIFIED_CHECKS_MAX } from './payment-schedule.ts'

const TAKEN_AT_ONCE = 16
/** Limit for unverified payments, which cost the node much and may be worthless. */
const UNVERIFIED_AT_ONCE = 4
const KEY_MS = 86_400_000
const FORGET_AFTER_MS = 7 * 86_400_000

export interface PaymentGauges {
  unresolved: number
  /** 0 if there is none. */
  oldestAgeSeconds: number
}

export interface PaymentReconcilerDeps {
  payments: PaymentRepository
  machine: PaymentMachine
  gauge: (gauges: PaymentGauges) => void
  clock: Clock
  log: Log
  alarmMinutes: number
}

/**
 * Finishes, or proves dead, every payment left by a crash, a timeout or a front-runner. Every process runs one, each on
 * its own rows.
 */
export class PaymentReconciler {
  readonly #deps: PaymentReconcilerDeps
  #alarmed = false

  constructor(deps: PaymentReconcilerDeps) {
    this.#deps = deps
  }

  async renew(): Promise<void> {
    const { payments, machine, clock } = this.#deps
    const own = [...machine.running.keys()]
    if (own.length > 0) await payments.renew(own, leaseEnd(clock.now()))
  }

  /** Processes the due payments; returns how many. */
  run(): Promise<number> {
    return this.#drain('verified', TAKEN_AT_ONCE)
  }

  /** Like `run`, for unverified payments; they run separately so that they never delay the others. */
  runUnverified(): Promise<number> {
    return this.#drain('unverified', UNVERIFIED_AT_ONCE)
  }

  async #drain(queue: PaymentQueue, limit: number): Promise<number> {
    const { payments, clock } = this.#deps
    let taken = 0
    for (;;) {
      const now = clock.now()
      const due = await payments.takeDue(queue, { now, lease: leaseEnd(now), limit })
      await Promise.all(due.map((payment) => this.#goOn(payment)))
      taken += due.length
      if (due.length < limit) return taken
    }
  }

  /** Processes every unfinished payment now, even if leased: for an operator, and for the start of the only process. */
  async runAll(): Promise<number> {
    await this.#deps.payments.hasten(this.#deps.clock.now())
    const [taken, unverified] = await Promise.all([this.run(), this.runUnverified()])
    return taken + unverified
  }

  /** Counts unresolved payments, and raises an alarm only once if one stays unresolved for too long. */
  async watch(): Promise<void> {
    const { payments, gauge, clock, log, alarmMinutes } = this.#deps
    const nowMs = clock.nowMs()
    const { unresolved, oldestAt } = await payments.countUnresolved()
    const oldestAgeSeconds = oldestAt === null ? 0 : Math.max(0, (nowMs - oldestAt.getTime()) / 1_000)
    gauge({ unresolved, oldestAgeSeconds })
    const late = oldestAgeSeconds > alarmMinutes * 60
    if (late && !this.#alarmed) {
      log.error('a payment has been unresolved for too long: see `sluice x402 payments` and the node of its chain', {
        unresolved,
        oldestAgeSeconds: Math.round(oldestAgeSeconds),
      })
    }
    this.#alarmed = late
    await payments.releaseKeys(new Date(nowMs - KEY_MS))
    await payments.forgetDead(new Date(nowMs - FORGET_AFTER_MS))
  }

  async #goOn(payment: Payment): Promise<void> {
    const { payments, machine, clock } = this.#deps
    const ended = await machine.run(payment).ended
    const now = clock.now()
    if (ended.state === 'received' && ended.looks >= UNVERIFIED_CHECKS_MAX) {
      // Nothing was sent for it, so its payer may submit it again.
      await payments.step(ended, { to: 'refused', reason: NOT_VERIFIED }, { now, checkAt: null })
      return
    }
    await payments.putOff(ended, nextCheckAt(ended, now))
  }
}
