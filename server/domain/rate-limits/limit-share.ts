import type { Clock } from '../clock.ts'

/** The longest window that is used up within seconds; what a process that ended admitted counts for as long. */
const REMEMBERED_MS = 60_000

/**
 * The part of each limit that this process admits when it cannot ask the others: the parts of all processes add up to the
 * limit. Alone until it hears of others.
 */
export class LimitShare {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #seenAtMs = new Map<string, number>()
  #processes = 1
  /** Position among them; the first ones take what a limit has beyond equal parts. */
  #rank = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  get processes(): number {
    return this.#processes
  }

  /** Takes note of the processes that are alive; one that has just ended still counts for a minute. */
  update(ownId: string, liveIds: readonly string[]): void {
    const nowMs = this.#clock.monotonicMs()
    for (const id of [ownId, ...liveIds]) this.#seenAtMs.set(id, nowMs)
    for (const [id, atMs] of this.#seenAtMs) if (nowMs - atMs > REMEMBERED_MS) this.#seenAtMs.delete(id)
    this.#processes = this.#seenAtMs.size
    this.#rank = [...this.#seenAtMs.keys()].toSorted().indexOf(ownId)
  }

  /** Bound, to be handed over. */
  readonly of = (limit: number): number =>
    Math.floor(limit / this.#processes) + (this.#rank < limit % this.#processes ? 1 : 0)
}
