import type { Log } from '../domain/log.ts'
import type { WindowCharge, WindowDecision, WindowState, WindowStore } from '../domain/rate-limits/window-store.ts'
import { withDeadline } from './deadline.ts'
import { LogThrottle } from './log-throttle.ts'

/** A call that takes longer counts as lost. */
const DEADLINE_MS = 50
/** After a loss one call in this time tries the shared store; the others do not wait for it. */
const RETRY_INTERVAL_MS = 1_000

export interface FailoverWindowStoreDeps {
  /** Shared by all processes; may fail or hang. */
  shared: WindowStore
  /** Of this process; never fails. */
  local: WindowStore
  log: Log
  /** Counts every call that the shared store did not answer. */
  countLoss: () => void
}

/**
 * Rate windows that outlive their shared store: while it is lost each process limits by itself, so a limit holds per
 * process instead of over all of them. A request never fails because of the store.
 */
export class FailoverWindowStore implements WindowStore {
  readonly #deps: FailoverWindowStoreDeps
  readonly #throttle = new LogThrottle()
  /** Charges booked locally: their corrections must not reach the shared windows, which never saw them. */
  readonly #bookedLocally = new WeakSet<WindowCharge>()
  #lost = false
  #retryAtMs = 0

  constructor(deps: FailoverWindowStoreDeps) {
    this.#deps = deps
  }

  /** True while this process limits by itself. */
  get degraded(): boolean {
    return this.#lost
  }

  async consume(charges: readonly WindowCharge[], nowMs: number): Promise<WindowDecision> {
    const decision = await this.#try((store) => store.consume(charges, nowMs))
    if (decision) return decision
    for (const charge of charges) this.#bookedLocally.add(charge)
    return this.#deps.local.consume(charges, nowMs)
  }

  adjust(charges: readonly { charge: WindowCharge; delta: number }[], consumedAtMs: number): Promise<void> {
    const first = charges[0]
    if (first && this.#bookedLocally.has(first.charge)) return this.#deps.local.adjust(charges, consumedAtMs)
    // While the shared store is lost a correction is too: its window refuses a little more until the bucket expires.
    if (this.#lost) return Promise.resolve(this.#deps.countLoss())
    return this.#deps.shared.adjust(charges, consumedAtMs).catch((error: unknown) => this.#noteLoss(error))
  }

  async peek(charges: readonly WindowCharge[], nowMs: number): Promise<WindowState[]> {
    return (await this.#try((store) => store.peek(charges, nowMs))) ?? this.#deps.local.peek(charges, nowMs)
  }

  async close(): Promise<void> {
    await Promise.all([this.#deps.shared.close(), this.#deps.local.close()])
  }

  /** Asks the shared store, unless it was lost a moment ago; undefined means the local one decides. */
  #try<T>(ask: (store: WindowStore) => Promise<T>): Promise<T | undefined> {
    if (this.#lost) {
      const nowMs = performance.now()
      if (nowMs < this.#retryAtMs) {
        this.#deps.countLoss()
        return Promise.resolve(undefined)
      }
      this.#retryAtMs = nowMs + RETRY_INTERVAL_MS
    }
    return withDeadline(ask(this.#deps.shared), DEADLINE_MS).then(
      (answer) => {
        if (this.#lost) this.#noteReturn()
        return answer
      },
      (error: unknown) => {
        this.#noteLoss(error)
        return undefined
      },
    )
  }

  #noteLoss(error: unknown): void {
    this.#deps.countLoss()
    this.#lost = true
    this.#retryAtMs = performance.now() + RETRY_INTERVAL_MS
    if (this.#throttle.mayLog()) {
      this.#deps.log.warn('rate limits: shared store lost, every process limits by itself until it returns', { error })
    }
  }

  #noteReturn(): void {
    this.#lost = false
    this.#deps.log.info('rate limits: shared store is back')
  }
}
