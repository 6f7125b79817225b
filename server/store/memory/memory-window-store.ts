import type { Clock } from '../../domain/clock.ts'
import type {
  HeldWindow,
  WindowBooking,
  WindowCharge,
  WindowDecision,
  WindowState,
  WindowStore,
} from '../../domain/rate-limits/window-store.ts'
import { SlidingWindow, toWindowShape, type WindowShape } from './sliding-window.ts'

const SWEEP_EVERY_MS = 1_000
/** Bounds how long one sweep blocks the process. */
const SWEPT_WINDOWS_MAX = 10_000

export interface MemoryWindowStoreDeps {
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
  /** The part of a limit that this process admits; default: all of it. */
  shareOf?: (limit: number) => number
}

/**
 * Rate windows of one process. They follow its monotonic clock, so changing the wall clock neither frees nor freezes
 * them; only the instants that callers see use the wall clock. Empty windows are dropped.
 */
export class MemoryWindowStore implements WindowStore {
  readonly #clock: MemoryWindowStoreDeps['clock']
  readonly #shareOf: (limit: number) => number
  readonly #windows = new Map<string, SlidingWindow>()
  readonly #shapes = new Map<number, WindowShape>()
  #sweepTimer: NodeJS.Timeout | undefined
  #unswept: Iterator<[string, SlidingWindow]> | undefined

  constructor({ clock, shareOf = (limit) => limit }: MemoryWindowStoreDeps) {
    this.#clock = clock
    this.#shareOf = shareOf
  }

  consume(charges: readonly WindowCharge[]): Promise<WindowDecision> {
    const atMs = this.#instant()
    let refusedBy: number | null = null
    let retryAtMs: number | null = null
    const states = charges.map((charge, index) => {
      const state = this.#stateAt(charge, atMs)
      const excess = this.#sumAt(charge, atMs) + charge.weight - this.#limitOf(charge)
      if (excess <= 0) return state
      const fitsAtMs = this.#fitsAtMs(charge, excess, atMs)
      // A weight above its limit never fits, which outlasts every other rejection.
      if (refusedBy === null || (retryAtMs !== null && (fitsAtMs === null || fitsAtMs > retryAtMs))) {
        refusedBy = index
        retryAtMs = fitsAtMs
      }
      return { ...state, resetAtMs: fitsAtMs ?? state.resetAtMs }
    })
    if (refusedBy !== null) {
      const booking = { sharedAtMs: null, localAtMs: null }
      return Promise.resolve({ admitted: false, refusedBy, retryAtMs, booking, states })
    }
    const booking = this.book(charges)
    const after = charges.map((charge) => this.#stateAt(charge, atMs))
    return Promise.resolve({ admitted: true, refusedBy, retryAtMs, booking, states: after })
  }

  /**
   * Records how full windows are across all processes. This process's part of that is used up even if others admitted
   * it, so all processes together admit only the rest of the limit without the shared store.
   */
  raise(charges: readonly WindowCharge[], states: readonly WindowState[]): void {
    const atMs = this.#instant()
    for (const [index, charge] of charges.entries()) {
      const taken = charge.limit - (states[index]?.remaining ?? charge.limit)
      const missing = Math.floor((taken * this.#limitOf(charge)) / charge.limit) - this.#sumAt(charge, atMs)
      if (missing > 0) this.#add({ ...charge, weight: missing }, atMs)
    }
  }

  /** Books what was admitted elsewhere, regardless of the limit. */
  book(charges: readonly WindowCharge[]): WindowBooking {
    const localAtMs = this.#instant()
    for (const charge of charges) this.#add(charge, localAtMs)
    return { sharedAtMs: null, localAtMs }
  }

  adjust(charges: readonly { charge: WindowCharge; delta: number }[], { localAtMs }: WindowBooking): Promise<void> {
    if (localAtMs === null) return Promise.resolve()
    for (const { charge, delta } of charges) this.#windows.get(charge.key)?.adjust(localAtMs, delta)
    return Promise.resolve()
  }

  peek(charges: readonly WindowCharge[]): Promise<WindowState[]> {
    const atMs = this.#instant()
    return Promise.resolve(charges.map((charge) => this.#stateAt(charge, atMs)))
  }

  /** Every window that is not empty. */
  *held(): Generator<HeldWindow> {
    for (const [key, window] of this.#windows) {
      const { windowSeconds, buckets } = window.shape
      const bookings = window.bookingsAt(this.#instant())
      if (bookings.length > 0) yield { key, windowSeconds, buckets, bookings }
    }
  }

  close(): Promise<void> {
    clearInterval(this.#sweepTimer)
    this.#windows.clear()
    return Promise.resolve()
  }

  /** An integer, because the engine stores it in less memory. */
  #instant(): number {
    return Math.floor(this.#clock.monotonicMs())
  }

  #limitOf({ limit, enforcedByDatabase }: WindowCharge): number {
    return enforcedByDatabase === true ? limit : this.#shareOf(limit)
  }

  #sumAt(charge: WindowCharge, atMs: number): number {
    return this.#windows.get(charge.key)?.sumAt(atMs) ?? 0
  }

  #stateAt(charge: WindowCharge, atMs: number): WindowState {
    const window = this.#windows.get(charge.key)
    const nowMs = this.#clock.nowMs()
    const remaining = Math.max(0, this.#limitOf(charge) - (window?.sumAt(atMs) ?? 0))
    return { limit: charge.limit, remaining, resetAtMs: nowMs + (window?.emptyAtMs(atMs) ?? atMs) - atMs, nowMs }
  }

  #fitsAtMs(charge: WindowCharge, excess: number, atMs: number): number | null {
    if (charge.weight > charge.limit) return null
    const nowMs = this.#clock.nowMs()
    // Beyond this process's share; the shared windows, or fewer processes, may have room for it later.
    if (charge.weight > this.#limitOf(charge)) return nowMs + charge.windowSeconds * 1_000
    return nowMs + (this.#windows.get(charge.key)?.freedAtMs(excess, atMs) ?? atMs) - atMs
  }

  #add(charge: WindowCharge, atMs: number): void {
    let window = this.#windows.get(charge.key)
    if (window === undefined) {
      window = new SlidingWindow(this.#shapeOf(charge))
      this.#windows.set(flat(charge.key), window)
      this.#sweepTimer ??= setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref()
    }
    window.add(atMs, charge.weight)
  }

  #shapeOf(charge: WindowCharge): WindowShape {
    const name = charge.windowSeconds * 10_000 + charge.buckets
    const known = this.#shapes.get(name)
    if (known !== undefined) return known
    const shape = toWindowShape(charge)
    this.#shapes.set(name, shape)
    return shape
  }

  /** Drops empty windows, a few at a time. */
  #sweep(): void {
    const atMs = this.#instant()
    this.#unswept ??= this.#windows.entries()
    for (let count = 0; count < SWEPT_WINDOWS_MAX; count += 1) {
      const { done, value } = this.#unswept.next()
      if (done === true) {
        this.#unswept = undefined
        break
      }
      const [key, window] = value
      window.sumAt(atMs)
      if (window.isEmpty) this.#windows.delete(key)
    }
    if (this.#windows.size > 0) return
    clearInterval(this.#sweepTimer)
    this.#sweepTimer = undefined
  }
}

/** A concatenated string keeps its parts, and three times the memory, for as long as it lives. */
function flat(text: string): string {
  return Buffer.from(text).toString()
}
