/** Properties shared by windows of the same length and precision. */
export interface WindowShape {
  windowSeconds: number
  buckets: number
  windowMs: number
  bucketMs: number
}

export function toWindowShape({ windowSeconds, buckets }: Pick<WindowShape, 'windowSeconds' | 'buckets'>): WindowShape {
  const windowMs = windowSeconds * 1_000
  // All buckets but the current one fill the window.
  return { windowSeconds, buckets, windowMs, bucketMs: Math.ceil(windowMs / (buckets - 1)) }
}

/**
 * Counts of one window in buckets. A bucket counts as a whole until its latest booking has left the window: never more
 * than the limit in any span, and exact if bookings are rarer than buckets. Only buckets with bookings take memory.
 */
export class SlidingWindow {
  readonly shape: WindowShape
  /**
   * Latest booking and count of each bucket in turn, oldest first; flat and exactly as long as needed, because most
   * windows hold one.
   */
  #buckets: number[] = []
  #sum = 0

  constructor(shape: WindowShape) {
    this.shape = shape
  }

  get isEmpty(): boolean {
    return this.#buckets.length === 0
  }

  /** The sum that still counts at `atMs`, which must not precede the latest booking. */
  sumAt(atMs: number): number {
    let expired = 0
    for (; expired < this.#buckets.length && this.#leavesAtMs(expired) <= atMs; expired += 2) {
      this.#sum -= this.#countAt(expired)
    }
    if (expired > 0) this.#buckets = this.#buckets.slice(expired)
    return this.#sum
  }

  /** The instant at which the window becomes empty; `atMs` if it already is. */
  emptyAtMs(atMs: number): number {
    return this.sumAt(atMs) > 0 ? this.#leavesAtMs(this.#buckets.length - 2) : atMs
  }

  add(atMs: number, weight: number): void {
    this.sumAt(atMs)
    this.#sum += weight
    const last = this.#buckets.length - 2
    if (last >= 0 && this.#bucketOf(this.#latestAt(last)) === this.#bucketOf(atMs)) {
      this.#buckets[last] = atMs
      this.#buckets[last + 1] = this.#countAt(last) + weight
    } else {
      // Neither pushed nor spread, because both reserve room for a dozen more.
      this.#buckets = this.#buckets.concat(atMs, weight)
    }
  }

  /** Changes a bucket that still counts; it never goes below zero. */
  adjust(atMs: number, delta: number): void {
    const bucket = this.#bucketOf(atMs)
    for (let index = this.#buckets.length - 2; index >= 0; index -= 2) {
      if (this.#bucketOf(this.#latestAt(index)) !== bucket) continue
      const change = Math.max(delta, -this.#countAt(index))
      this.#buckets[index + 1] = this.#countAt(index) + change
      this.#sum += change
      return
    }
  }

  /** First instant at which `excess` of the sum at `atMs` has left the window. */
  freedAtMs(excess: number, atMs: number): number {
    let freed = 0
    for (let index = 0; index < this.#buckets.length; index += 2) {
      freed += this.#countAt(index)
      if (freed >= excess) return this.#leavesAtMs(index)
    }
    return this.emptyAtMs(atMs)
  }

  bookingsAt(atMs: number): { ageMs: number; weight: number }[] {
    this.sumAt(atMs)
    const bookings = []
    for (let index = 0; index < this.#buckets.length; index += 2) {
      bookings.push({ ageMs: atMs - this.#latestAt(index), weight: this.#countAt(index) })
    }
    return bookings
  }

  #latestAt(index: number): number {
    return this.#buckets[index] ?? 0
  }

  #countAt(index: number): number {
    return this.#buckets[index + 1] ?? 0
  }

  #leavesAtMs(index: number): number {
    return this.#latestAt(index) + this.shape.windowMs
  }

  #bucketOf(atMs: number): number {
    return Math.floor(atMs / this.shape.bucketMs)
  }
}
