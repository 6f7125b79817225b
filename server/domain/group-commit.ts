export type SendBatch<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>

export interface GroupCommitOptions<Item> {
  /** Maximum batch size; limits the duration of one database call. */
  batchItemsMax: number
  /** True for a failure unrelated to the items, such as a lost connection; the batch is then sent again. */
  isTransient: (error: unknown) => boolean
  /** Maximum number of times that an item is sent again before it fails. */
  retriesMax: (item: Item) => number
  wait: (milliseconds: number) => Promise<void>
}

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
  failures: number
}

const RETRY_DELAY_MS = 50
const RETRY_DELAY_MS_MAX = 1_000

/**
 * Collects items that arrive while the previous batch is in flight, and sends them as one call: a single item is sent
 * immediately, and a busy process shares one commit among hundreds. Only one batch is in flight at a time, so items keep
 * their order of arrival.
 */
export class GroupCommit<Item, Result> {
  readonly #send: SendBatch<Item, Result>
  readonly #options: GroupCommitOptions<Item>
  #waiting: Waiting<Item, Result>[] = []
  #scheduled = false
  #inFlight = false
  /** Number of consecutive lost batches, which increases the wait before the next one. */
  #lostInARow = 0
  #idle: (() => void)[] = []

  constructor(send: SendBatch<Item, Result>, options: GroupCommitOptions<Item>) {
    this.#send = send
    this.#options = options
  }

  submit(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject, failures: 0 })
      this.#schedule()
    })
  }

  drained(): Promise<void> {
    if (!this.#inFlight && this.#waiting.length === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight) return
    this.#scheduled = true
    // Runs after the poll phase, so that requests read in one turn of the event loop share a batch.
    setImmediate(() => {
      this.#scheduled = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    this.#inFlight = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#options.batchItemsMax)
      await this.#deliver(batch)
    }
    this.#inFlight = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #deliver(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#send(batch.map((waiting) => waiting.item))
      this.#lostInARow = 0
      batch.forEach((waiting, index) => {
        waiting.resolve(results[index] as Result)
      })
    } catch (error) {
      if (!this.#options.isTransient(error)) return this.#deliverEach(batch, error)
      this.#queueAgain(batch, error)
      if (this.#waiting.length === 0) return
      await this.#options.wait(Math.min(RETRY_DELAY_MS * 2 ** this.#lostInARow++, RETRY_DELAY_MS_MAX))
    }
  }

  /** Queues items again before all others, to be sent with them; items without retries left fail. */
  #queueAgain(batch: Waiting<Item, Result>[], error: unknown): void {
    const patient = batch.filter((waiting) => {
      if (waiting.failures++ < this.#options.retriesMax(waiting.item)) return true
      waiting.reject(error)
      return false
    })
    this.#waiting.unshift(...patient)
  }

  /** Sends items one by one, so that one that the database rejects does not fail the others. */
  async #deliverEach(batch: Waiting<Item, Result>[], error: unknown): Promise<void> {
    if (batch.length > 1) for (const waiting of batch) await this.#deliver([waiting])
    else batch[0]?.reject(error)
  }
}
