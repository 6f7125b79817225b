/**
 * Counts of one window in a ring of buckets. A bucket counts as a whole until its latest booking has left the window:
 * never more than the limit in any span, and exact where bookings are rarer than buckets.
 */
export class SlidingWindow {
  readonly #windowMs: number
  readonly #bucketMs: number
  readonly #counts: Float64Array
  /** Latest booking of each bucket. */
  readonly #latestMs: Float64Array
  #sum = 0
  #newestMs: number

  constructor(shape: { windowMs: number; buckets: number }, nowMs: number) {
    this.#windowMs = shape.windowMs
    // All buckets but the one in progress fill the window.
    this.#bucketMs = Math.ceil(shape.windowMs / (shape.buckets - 1))
    this.#counts = new Float64Array(shape.buckets)
    this.#latestMs = new Float64Array(shape.buckets).fill(-1)
    this.#newestMs = nowMs
  }

  /** Instant of the latest booking. */
  get newestMs(): number {
    return this.#newestMs
  }

  /** From here on nothing counts. */
  get emptyAtMs(): number {
    return this.#newestMs + this.#windowMs
  }

  /** What still counts at `atMs`, which is not before the latest booking. */
  sumAt(atMs: number): number {
    if (atMs >= this.emptyAtMs) return 0
    let sum = this.#sum
    this.#eachExpired(atMs, (slot) => {
      sum -= this.#counts[slot] ?? 0
    })
    return sum
  }

  add(atMs: number, weight: number): void {
    this.#eachExpired(atMs, (slot) => {
      this.#sum -= this.#counts[slot] ?? 0
      this.#counts[slot] = 0
      this.#latestMs[slot] = -1
    })
    const slot = this.#slotOf(this.#bucketOf(atMs))
    this.#counts[slot] = (this.#counts[slot] ?? 0) + weight
    this.#latestMs[slot] = atMs
    this.#sum += weight
    this.#newestMs = atMs
  }

  /** Changes a bucket that is still counted; what it would lack below zero is not taken. */
  adjust(atMs: number, delta: number): void {
    const bucket = this.#bucketOf(atMs)
    const slot = this.#slotOf(bucket)
    if (this.#bucketOf(this.#latestMs[slot] ?? -1) !== bucket) return
    const count = this.#counts[slot] ?? 0
    const change = Math.max(delta, -count)
    this.#counts[slot] = count + change
    this.#sum += change
  }

  /** First instant at which `excess` of what counts at `atMs` has left the window. */
  freedAtMs(excess: number, atMs: number): number {
    let freed = 0
    for (let bucket = this.#oldest(); bucket <= this.#bucketOf(this.#newestMs); bucket += 1) {
      const slot = this.#slotOf(bucket)
      const leavesAtMs = (this.#latestMs[slot] ?? -1) + this.#windowMs
      if (leavesAtMs > atMs) freed += this.#counts[slot] ?? 0
      if (freed >= excess) return leavesAtMs
    }
    return this.emptyAtMs
  }

  /** Books everything that counts at `nowMs`, after the clock fell back by more than the window. */
  rebase(nowMs: number): void {
    const sum = this.#sum
    this.#counts.fill(0)
    this.#latestMs.fill(-1)
    this.#sum = 0
    this.add(nowMs, sum)
  }

  /** Only buckets a whole window behind can have expired; none of the later ones needs a look. */
  #eachExpired(atMs: number, visit: (slot: number) => void): void {
    const spanned = Math.floor(this.#windowMs / this.#bucketMs)
    const last = Math.min(this.#bucketOf(this.#newestMs), this.#bucketOf(atMs) - spanned)
    for (let bucket = this.#oldest(); bucket <= last; bucket += 1) {
      const slot = this.#slotOf(bucket)
      if ((this.#latestMs[slot] ?? -1) + this.#windowMs <= atMs) visit(slot)
    }
  }

  #oldest(): number {
    return this.#bucketOf(this.#newestMs) - this.#counts.length + 1
  }

  #bucketOf(atMs: number): number {
    return Math.floor(atMs / this.#bucketMs)
  }

  #slotOf(bucket: number): number {
    return bucket % this.#counts.length
  }
}
