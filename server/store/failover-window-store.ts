import type { Clock } from '../domain/clock.ts'
import type { Log } from '../domain/log.ts'
import type {
  HeldWindow,
  SharedWindowStore,
  WindowBooking,
  WindowCharge,
  WindowDecision,
  WindowState,
  WindowStore,
} from '../domain/rate-limits/window-store.ts'
import { LogThrottle } from './log-throttle.ts'
import { MemoryWindowStore } from './memory/memory-window-store.ts'

const PROBE_EVERY_MS = 1_000
const LOST_PROBE_EVERY_MS = 250
/** By then the other processes have found the returned store again and carried over what they admitted. */
const GRACE_MS = 5_000

export interface FailoverWindowStoreDeps {
  shared: SharedWindowStore
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
  /** The part of a limit that this process admits without the shared store. */
  shareOf: (limit: number) => number
  log: Log
  /** Counts every call to which the shared store did not respond. */
  countLoss: () => void
}

/**
 * Rate windows that outlive their shared store: while it is lost, each process admits its share of every limit. A
 * request never fails because of the store.
 *
 * Each process remembers what it admitted itself and how full the shared windows were, so losing the store frees
 * nothing. When the store returns, the process carries over what the store missed, or everything it remembers if the
 * store came back empty. Until all processes must have done so, a request needs room in both the shared window and its
 * process's share.
 */
export class FailoverWindowStore implements WindowStore {
  readonly #deps: FailoverWindowStoreDeps
  readonly #throttle = new LogThrottle()
  /**
   * What this process admitted, and at least its part of all admissions; limited to its share while the store is lost.
   */
  readonly #own: MemoryWindowStore
  /** The part of `#own` that the shared store has not seen. */
  #unshared: MemoryWindowStore
  #lost = false
  /** True if the shared store lost its data. */
  #forgotten = false
  #graceEndsAtMs = 0
  /**
   * How far the shared store's clock is ahead of the monotonic one: callers see one clock, whether the store is lost or
   * not.
   */
  #leadMs: number
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(deps: FailoverWindowStoreDeps) {
    const { clock, shareOf } = deps
    this.#deps = deps
    this.#leadMs = clock.nowMs() - clock.monotonicMs()
    this.#own = new MemoryWindowStore({ clock: this.#clock, shareOf })
    this.#unshared = new MemoryWindowStore({ clock: this.#clock })
  }

  /** True while this process limits by itself. */
  get degraded(): boolean {
    return this.#lost
  }

  /** Watches the shared store until `close`, so no request waits for its loss or its return to be noticed. */
  start(): Promise<void> {
    return this.#probe()
  }

  /** The connection broke; the server behind the next one may have lost its data. */
  connectionLost(error: unknown): void {
    if (!this.#lost) this.#noteLoss(error)
  }

  async consume(charges: readonly WindowCharge[]): Promise<WindowDecision> {
    if (this.#lost) {
      this.#deps.countLoss()
      return this.#consumeAlone(charges)
    }
    if (this.#deps.clock.monotonicMs() < this.#graceEndsAtMs) return this.#consumeTwice(charges)
    const decision = await this.#ask((shared) => shared.consume(charges))
    if (decision === undefined) return this.#consumeAlone(charges)
    if (decision.admitted) decision.booking.localAtMs = this.#own.book(charges).localAtMs
    this.#own.raise(charges, decision.states)
    return decision
  }

  async adjust(charges: readonly { charge: WindowCharge; delta: number }[], booking: WindowBooking): Promise<void> {
    await this.#own.adjust(charges, booking)
    if (booking.sharedAtMs === null) return this.#unshared.adjust(charges, booking)
    // A correction is lost while the shared store is away: its window rejects a little too much until the bucket
    // expires.
    if (this.#lost) return this.#deps.countLoss()
    return this.#deps.shared.adjust(charges, booking).catch((error: unknown) => this.#noteLoss(error))
  }

  async peek(charges: readonly WindowCharge[]): Promise<WindowState[]> {
    const states = this.#lost ? undefined : await this.#ask((shared) => shared.peek(charges))
    return states ?? this.#own.peek(charges)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await Promise.all([this.#deps.shared.close(), this.#own.close(), this.#unshared.close()])
  }

  get #clock(): Pick<Clock, 'nowMs' | 'monotonicMs'> {
    const { clock } = this.#deps
    return { monotonicMs: () => clock.monotonicMs(), nowMs: () => Math.round(clock.monotonicMs() + this.#leadMs) }
  }

  /** Undefined: the store did not respond. */
  async #ask<T extends WindowDecision | WindowState[]>(
    call: (shared: SharedWindowStore) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      const answer = await call(this.#deps.shared)
      const [state] = 'states' in answer ? answer.states : answer
      if (state !== undefined) this.#leadMs = state.nowMs - this.#deps.clock.monotonicMs()
      return answer
    } catch (error) {
      this.#noteLoss(error)
      return undefined
    }
  }

  async #consumeAlone(charges: readonly WindowCharge[]): Promise<WindowDecision> {
    const decision = await this.#own.consume(charges)
    if (decision.admitted) this.#unshared.book(charges)
    return decision
  }

  async #consumeTwice(charges: readonly WindowCharge[]): Promise<WindowDecision> {
    const own = await this.#own.consume(charges)
    if (!own.admitted) return own
    const decision = await this.#ask((shared) => shared.consume(charges))
    if (decision === undefined) {
      this.#unshared.book(charges)
      return own
    }
    if (decision.admitted) return { ...decision, booking: { ...decision.booking, localAtMs: own.booking.localAtMs } }
    const returned = charges.map((charge) => ({ charge, delta: -charge.weight }))
    await this.#own.adjust(returned, own.booking)
    return decision
  }

  async #probe(): Promise<void> {
    try {
      if (!(await this.#deps.shared.probe())) this.#forgotten = true
      if (this.#lost || this.#forgotten) await this.#recover()
    } catch (error) {
      this.#noteLoss(error)
    }
    if (this.#closed) return
    this.#timer = setTimeout(() => void this.#probe(), this.#lost ? LOST_PROBE_EVERY_MS : PROBE_EVERY_MS).unref()
  }

  /** Requests are still decided locally until the shared windows know of all but the latest of them. */
  async #recover(): Promise<void> {
    const { shared, clock, log } = this.#deps
    const wasLost = this.#lost
    this.#lost = true
    try {
      const missed = this.#takeUnshared()
      await shared.carry(this.#forgotten ? this.#own.held() : missed)
      await shared.carry(this.#takeUnshared())
      this.#lost = false
      this.#graceEndsAtMs = clock.monotonicMs() + GRACE_MS
      await shared.carry(this.#takeUnshared())
      this.#forgotten = false
    } catch (error) {
      // It is unknown how much arrived, so everything is sent again: counting twice is better than not at all.
      this.#forgotten = true
      throw error
    }
    if (wasLost) log.info('rate limits: shared store is back')
    else log.warn('rate limits: the shared store had lost its windows; what this process admitted was restored')
  }

  #takeUnshared(): Iterable<HeldWindow> {
    const taken = this.#unshared
    this.#unshared = new MemoryWindowStore({ clock: this.#clock })
    const held = [...taken.held()]
    void taken.close()
    return held
  }

  #noteLoss(error: unknown): void {
    this.#deps.countLoss()
    this.#lost = true
    if (this.#closed || !this.#throttle.mayLog()) return
    const message = 'rate limits: shared store lost, this process admits its share of every limit until it returns'
    this.#deps.log.warn(message, { error })
  }
}
