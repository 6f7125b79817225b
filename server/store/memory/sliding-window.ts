/** Counts of one window in a ring of buckets; bucket numbers are instants divided by the bucket's width. */
export class SlidingWindow {
  readonly #counts: Float64Array
  #newest: number
  #sum = 0

  constructor(buckets: number, newest: number) {
    this.#counts = new Float64Array(buckets)
    this.#newest = newest
  }

  /** Bucket of the latest consumption. */
  get newest(): number {
    return this.#newest
  }

  isEmptyAt(bucket: number): boolean {
    return bucket >= this.#newest + this.#counts.length
  }

  /** What still counts at `bucket`, which is not before the newest. */
  sumAt(bucket: number): number {
    let sum = this.#sum
    for (let expired = this.#oldest(); expired <= this.#lastExpiredAt(bucket); expired += 1) sum -= this.#at(expired)
    return sum
  }

  add(bucket: number, weight: number): void {
    const last = this.#lastExpiredAt(bucket)
    for (let expired = this.#oldest(); expired <= last; expired += 1) this.#take(expired, this.#at(expired))
    this.#newest = bucket
    this.#take(bucket, -weight)
  }

  /** Changes a bucket that is still counted; what it would lack below zero is not taken. */
  adjust(bucket: number, delta: number): void {
    if (bucket < this.#oldest() || bucket > this.#newest) return
    this.#take(bucket, -Math.max(delta, -this.#at(bucket)))
  }

  /** First bucket number at which `excess` of what counts at `bucket` has left the window. */
  freedAt(excess: number, bucket: number): number {
    let freed = 0
    for (let leaving = bucket - this.#counts.length + 1; leaving < this.#newest; leaving += 1) {
      if (leaving >= this.#oldest()) freed += this.#at(leaving)
      if (freed >= excess) return leaving + this.#counts.length
    }
    return this.#newest + this.#counts.length
  }

  /** Books everything that counts into `bucket`, after the clock fell back by more than the window. */
  rebase(bucket: number): void {
    const sum = this.#sum
    this.#counts.fill(0)
    this.#newest = bucket
    this.#counts[this.#slot(bucket)] = sum
  }

  #oldest(): number {
    return this.#newest - this.#counts.length + 1
  }

  #lastExpiredAt(bucket: number): number {
    return Math.min(bucket - this.#counts.length, this.#newest)
  }

  #slot(bucket: number): number {
    return bucket % this.#counts.length
  }

  #at(bucket: number): number {
    return this.#counts[this.#slot(bucket)] ?? 0
  }

  #take(bucket: number, amount: number): void {
    this.#counts[this.#slot(bucket)] = this.#at(bucket) - amount
    this.#sum -= amount
  }
}
