import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Payment } from './payment.ts'
import type { PaymentMachine } from './payment-machine.ts'
import type { PaymentRepository } from './payment-repository.ts'
import { leaseEnd, nextLook } from './payment-schedule.ts'

const TAKEN_AT_ONCE = 16
const KEY_MS = 86_400_000
const FORGET_AFTER_MS = 7 * 86_400_000

export interface PaymentGauges {
  unresolved: number
  /** 0 when there is none. */
  oldestAgeSeconds: number
}

export interface PaymentReconcilerDependencies {
  payments: PaymentRepository
  machine: PaymentMachine
  gauge: (gauges: PaymentGauges) => void
  clock: Clock
  log: Log
  alarmMinutes: number
}

/** Finishes, or proves dead, whatever a crash, a timeout or a front-runner left; every process runs one, on rows of its own. */
export class PaymentReconciler {
  readonly #deps: PaymentReconcilerDependencies
  #alarmed = false

  constructor(deps: PaymentReconcilerDependencies) {
    this.#deps = deps
  }

  /** Keeps other processes off the payments that this one works on. */
  async renew(): Promise<void> {
    const { payments, machine, clock } = this.#deps
    const own = [...machine.running.keys()]
    if (own.length > 0) await payments.renew(own, leaseEnd(clock.now()))
  }

  /** Takes up the payments whose time has come; returns how many. */
  async run(): Promise<number> {
    const { payments, clock } = this.#deps
    let taken = 0
    for (;;) {
      const now = clock.now()
      const due = await payments.takeDue({ now, lease: leaseEnd(now), limit: TAKEN_AT_ONCE })
      await Promise.all(due.map((payment) => this.#goOn(payment)))
      taken += due.length
      if (due.length < TAKEN_AT_ONCE) return taken
    }
  }

  /** Takes up every payment that is not ended, now, whoever works on it: for an operator, and for the start of the only process. */
  async runAll(): Promise<number> {
    await this.#deps.payments.hasten(this.#deps.clock.now())
    return this.run()
  }

  /** Counts what is unresolved, and alarms once when something has been for too long. */
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
    await payments.putOff(payment.id, nextLook(ended, clock.now()))
  }
}
