import { type Clock, utcDay } from '../clock.ts'
import type { DiemAllowance } from '../ledger/diem-allowance.ts'
import type { Log } from '../log.ts'
import type { HoldRepository, OpenHold } from './hold-repository.ts'
import type { Settlement, SettleResult } from './money-item.ts'

const HEARTBEAT_SECONDS = 10
/** A process whose lease is older is dead to the others. */
export const STALE_SECONDS = 30
/** What made one process miss a heartbeat may have made others miss theirs, so that their leases are old, too. */
const MISSED_SECONDS = STALE_SECONDS - HEARTBEAT_SECONDS
const SWEEP_ITEMS_MAX = 1_000

export interface HoldSweeperDeps {
  holds: HoldRepository
  settle: (item: Settlement) => Promise<SettleResult>
  /** Whether a request of this process is between the begin of its admission and the end of its settlement. */
  isUnderWay: (requestId: string) => boolean
  /** DIEM of an earlier day that a release gave back. */
  expireRest: DiemAllowance['expireRest']
  /** An account's balance changed by a release. */
  released: (accountId: string) => void
  processId: string
  clock: Clock
  log: Log
}

/** Keeps this process's lease alive and releases the holds of processes whose lease ran out: at most 60 s after a crash. */
export class HoldSweeper {
  readonly #deps: HoldSweeperDeps
  #timers: NodeJS.Timeout[] = []

  constructor(deps: HoldSweeperDeps) {
    this.#deps = deps
  }

  /** Resolves when the lease stands; admissions may start only then. */
  async start(): Promise<void> {
    await this.#deps.holds.heartbeat(this.#deps.processId)
    this.#every(HEARTBEAT_SECONDS, () => this.maintain())
  }

  /**
   * Renews the lease, then releases what is abandoned. After a standstill of this process or of the database it leaves
   * that to the next time: the others must have had theirs to renew their leases.
   */
  async maintain(): Promise<void> {
    const { holds, processId, clock } = this.#deps
    const beganMs = clock.nowMs()
    const leaseSeconds = await holds.heartbeat(processId)
    // A commit that takes long makes the leases of others as old as it makes this one.
    const standstillSeconds = leaseSeconds + (clock.nowMs() - beganMs) / 1_000
    await Promise.all([this.releaseOwn(), standstillSeconds < MISSED_SECONDS && this.sweep(STALE_SECONDS)])
  }

  /**
   * Releases the holds of this process that no request stands behind: the answer to the admission was lost, or the
   * settlement failed. No other process would, since this one lives.
   */
  async releaseOwn(): Promise<void> {
    const { holds, processId, isUnderWay } = this.#deps
    const own = await holds.listOfProcess(processId)
    // Asked afterwards, so that no hold among them is of a request that began meanwhile.
    const left = own.filter(({ release }) => !isUnderWay(release.requestId))
    // What cannot be released now is found again the next time.
    await Promise.allSettled(left.map((hold) => this.#release(hold)))
  }

  /** Releases every abandoned hold and forgets the processes that left them; returns how many. */
  async sweep(staleSeconds: number): Promise<number> {
    let released = 0
    for (;;) {
      const abandoned = await this.#deps.holds.listAbandoned(staleSeconds, SWEEP_ITEMS_MAX)
      await Promise.all(abandoned.map((hold) => this.#release(hold)))
      released += abandoned.length
      if (abandoned.length < SWEEP_ITEMS_MAX) break
    }
    await this.#deps.holds.forgetEndedProcesses(staleSeconds)
    if (released > 0) this.#deps.log.warn('released the holds of a process that ended', { holds: released })
    return released
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer)
    await this.#deps.holds.endProcess(this.#deps.processId)
  }

  async #release({ release, amountNano, admittedAt }: OpenHold): Promise<void> {
    const { settle, expireRest, released } = this.#deps
    const { outcome } = await settle(release)
    const { accountId, requestId, currency } = release
    // A process that was thought dead may have settled it meanwhile.
    if (currency === 'diem' && outcome === 'settled')
      await expireRest({ accountId, requestId, day: utcDay(admittedAt) }, amountNano)
    released(accountId)
  }

  #every(seconds: number, task: () => Promise<unknown>): void {
    const timer = setInterval(() => {
      task().catch((error: unknown) => this.#deps.log.warn('hold maintenance failed; it is retried', { error }))
    }, seconds * 1_000)
    timer.unref()
    this.#timers.push(timer)
  }
}
