import type { Clock } from '../clock.ts'

/** The longest window that can be used up within seconds; requests admitted by an ended process count for as long. */
const REMEMBERED_MS = 60_000

/**
 * The share of each limit that this process admits when it cannot coordinate with the others; the shares of all processes
 * add up to the limit. Assumes a single process until it learns of others.
 */
export class LimitShare {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #seenAtMs = new Map<string, number>()
  #processes = 1
  /** Position among the processes; the first ones get the remainder of equal shares. */
  #rank = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  get processes(): number {
    return this.#processes
  }

  /** Updates the live processes; one that has just ended still counts for a minute. */
  update(ownId: string, liveIds: readonly string[]): void {
    const nowMs = this.#clock.monotonicMs()
    for (const id of [ownId, ...liveIds]) this.#seenAtMs.set(id, nowMs)
    for (const [id, atMs] of this.#seenAtMs) if (nowMs - atMs > REMEMBERED_MS) this.#seenAtMs.delete(id)
    this.#processes = this.#seenAtMs.size
    this.#rank = [...this.#seenAtMs.keys()].toSorted().indexOf(ownId)
  }

  /** An arrow function, so that it can be passed as a callback. */
  readonly of = (limit: number): number =>
    Math.floor(limit / this.#processes) + (this.#rank < limit % this.#processes ? 1 : 0)
}
