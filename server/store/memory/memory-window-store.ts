import type { WindowCharge, WindowDecision, WindowState, WindowStore } from '../../domain/rate-limits/window-store.ts'
import { SlidingWindow } from './sliding-window.ts'

const SWEEP_SIZE_MIN = 1_024

/** Rate windows of one process. The caller's clock is the only one; idle windows are dropped as the map grows. */
export class MemoryWindowStore implements WindowStore {
  readonly #windows = new Map<string, SlidingWindow>()
  #sweepAtSize = SWEEP_SIZE_MIN

  consume(charges: readonly WindowCharge[], nowMs: number): Promise<WindowDecision> {
    const atMs = this.#effectiveMs(charges, nowMs)
    let refusedBy: number | null = null
    let retryAtMs: number | null = null
    const states = charges.map((charge, index) => {
      const state = this.#stateAt(charge, atMs)
      const excess = this.#sumAt(charge, atMs) + charge.weight - charge.limit
      if (excess <= 0) return state
      const fitsAtMs = this.#fitsAtMs(charge, excess, atMs)
      // A weight above its limit never fits, which outlasts every other refusal.
      if (refusedBy === null || (retryAtMs !== null && (fitsAtMs === null || fitsAtMs > retryAtMs))) {
        refusedBy = index
        retryAtMs = fitsAtMs
      }
      return { ...state, resetAtMs: fitsAtMs ?? state.resetAtMs }
    })
    if (refusedBy !== null)
      return Promise.resolve({ admitted: false, refusedBy, retryAtMs, consumedAtMs: atMs, states })
    for (const charge of charges) this.#add(charge, atMs)
    const after = charges.map((charge) => this.#stateAt(charge, atMs))
    return Promise.resolve({ admitted: true, refusedBy, retryAtMs, consumedAtMs: atMs, states: after })
  }

  adjust(charges: readonly { charge: WindowCharge; delta: number }[], consumedAtMs: number): Promise<void> {
    for (const { charge, delta } of charges) this.#windows.get(charge.key)?.adjust(consumedAtMs, delta)
    return Promise.resolve()
  }

  peek(charges: readonly WindowCharge[], nowMs: number): Promise<WindowState[]> {
    const atMs = this.#effectiveMs(charges, nowMs)
    return Promise.resolve(charges.map((charge) => this.#stateAt(charge, atMs)))
  }

  close(): Promise<void> {
    this.#windows.clear()
    return Promise.resolve()
  }

  /** The newest instant that any of the windows has seen: time never runs backwards for a window. */
  #effectiveMs(charges: readonly WindowCharge[], nowMs: number): number {
    let atMs = nowMs
    for (const { key, windowSeconds } of charges) {
      const window = this.#windows.get(key)
      if (!window) continue
      // A clock that was set back by more than the window would otherwise freeze the window until it catches up.
      if (window.newestMs - nowMs > windowSeconds * 1000) window.rebase(nowMs)
      atMs = Math.max(atMs, window.newestMs)
    }
    return atMs
  }

  #sumAt(charge: WindowCharge, atMs: number): number {
    return this.#windows.get(charge.key)?.sumAt(atMs) ?? 0
  }

  #stateAt(charge: WindowCharge, atMs: number): WindowState {
    const window = this.#windows.get(charge.key)
    const sum = window?.sumAt(atMs) ?? 0
    const resetAtMs = window && sum > 0 ? window.emptyAtMs : atMs
    return { limit: charge.limit, remaining: Math.max(0, charge.limit - sum), resetAtMs }
  }

  #fitsAtMs(charge: WindowCharge, excess: number, atMs: number): number | null {
    const window = this.#windows.get(charge.key)
    return window && charge.weight <= charge.limit ? window.freedAtMs(excess, atMs) : null
  }

  #add(charge: WindowCharge, atMs: number): void {
    let window = this.#windows.get(charge.key)
    if (!window) {
      window = new SlidingWindow({ windowMs: charge.windowSeconds * 1000, buckets: charge.buckets }, atMs)
      this.#windows.set(charge.key, window)
      if (this.#windows.size >= this.#sweepAtSize) this.#sweep(atMs)
    }
    window.add(atMs, charge.weight)
  }

  /** Drops empty windows; waiting for the map to double keeps the cost per request constant. */
  #sweep(atMs: number): void {
    for (const [key, window] of this.#windows) if (atMs >= window.emptyAtMs) this.#windows.delete(key)
    this.#sweepAtSize = Math.max(SWEEP_SIZE_MIN, this.#windows.size * 2)
  }
}
