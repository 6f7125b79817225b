import type { WindowCharge, WindowDecision, WindowState, WindowStore } from '../../domain/rate-limits/window-store.ts'
import { bucketMs } from '../window-buckets.ts'
import { SlidingWindow } from './sliding-window.ts'

const SWEEP_SIZE_MIN = 1_024

interface Entry {
  window: SlidingWindow
  bucketMs: number
}

/** Rate windows of one process. The caller's clock is the only one; idle windows are dropped as the map grows. */
export class MemoryWindowStore implements WindowStore {
  readonly #entries = new Map<string, Entry>()
  #sweepAtSize = SWEEP_SIZE_MIN

  consume(charges: readonly WindowCharge[], nowMs: number): Promise<WindowDecision> {
    const atMs = this.#effectiveMs(charges, nowMs)
    let refusedBy: number | null = null
    let retryAtMs: number | null = null
    const states = charges.map((charge, index) => {
      const state = this.#stateAt(charge, atMs)
      if (charge.weight <= charge.limit - this.#sumAt(charge, atMs)) return state
      const fitsAtMs = this.#fitsAtMs(charge, atMs)
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
    for (const { charge, delta } of charges) {
      const entry = this.#entries.get(charge.key)
      entry?.window.adjust(Math.floor(consumedAtMs / entry.bucketMs), delta)
    }
    return Promise.resolve()
  }

  peek(charges: readonly WindowCharge[], nowMs: number): Promise<WindowState[]> {
    const atMs = this.#effectiveMs(charges, nowMs)
    return Promise.resolve(charges.map((charge) => this.#stateAt(charge, atMs)))
  }

  close(): Promise<void> {
    this.#entries.clear()
    return Promise.resolve()
  }

  /** The newest instant that any of the windows has seen: time never runs backwards for a window. */
  #effectiveMs(charges: readonly WindowCharge[], nowMs: number): number {
    let atMs = nowMs
    for (const { key, windowSeconds } of charges) {
      const entry = this.#entries.get(key)
      if (!entry) continue
      const newestMs = entry.window.newest * entry.bucketMs
      // A clock that was set back by more than the window would otherwise freeze the window until it catches up.
      if (newestMs - nowMs > windowSeconds * 1000) entry.window.rebase(Math.floor(nowMs / entry.bucketMs))
      else atMs = Math.max(atMs, newestMs)
    }
    return atMs
  }

  #sumAt(charge: WindowCharge, atMs: number): number {
    const entry = this.#entries.get(charge.key)
    return entry ? entry.window.sumAt(Math.floor(atMs / entry.bucketMs)) : 0
  }

  #stateAt(charge: WindowCharge, atMs: number): WindowState {
    const sum = this.#sumAt(charge, atMs)
    const entry = this.#entries.get(charge.key)
    const emptyAtMs = entry && sum > 0 ? (entry.window.newest + charge.buckets) * entry.bucketMs : atMs
    return { limit: charge.limit, remaining: Math.max(0, charge.limit - sum), resetAtMs: emptyAtMs }
  }

  #fitsAtMs(charge: WindowCharge, atMs: number): number | null {
    const entry = this.#entries.get(charge.key)
    if (!entry || charge.weight > charge.limit) return null
    const bucket = Math.floor(atMs / entry.bucketMs)
    const excess = entry.window.sumAt(bucket) + charge.weight - charge.limit
    return entry.window.freedAt(excess, bucket) * entry.bucketMs
  }

  #add(charge: WindowCharge, atMs: number): void {
    let entry = this.#entries.get(charge.key)
    if (!entry) {
      const width = bucketMs(charge)
      entry = { window: new SlidingWindow(charge.buckets, Math.floor(atMs / width)), bucketMs: width }
      this.#entries.set(charge.key, entry)
      if (this.#entries.size >= this.#sweepAtSize) this.#sweep(atMs)
    }
    entry.window.add(Math.floor(atMs / entry.bucketMs), charge.weight)
  }

  /** Drops empty windows; waiting for the map to double keeps the cost per request constant. */
  #sweep(atMs: number): void {
    for (const [key, { window, bucketMs }] of this.#entries) {
      if (window.isEmptyAt(Math.floor(atMs / bucketMs))) this.#entries.delete(key)
    }
    this.#sweepAtSize = Math.max(SWEEP_SIZE_MIN, this.#entries.size * 2)
  }
}
