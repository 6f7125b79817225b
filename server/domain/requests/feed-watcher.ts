import type { SettledBatch } from './request-record.ts'

/** Beyond this a watcher that does not read loses what waits, and reads it from the database when it comes back. */
const WAITING_BATCHES_MAX = 20

/** What waits for one reader of a feed: a bounded queue of batches that it shares with the other readers. */
export class FeedWatcher {
  readonly #signal: AbortSignal
  readonly #waiting: SettledBatch[] = []
  readonly #abort = (): void => this.#wake()
  #lost = false
  #wake: () => void = () => {}

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#abort)
  }

  /** Whether batches were dropped; what the reader has not got is to be read from the database. */
  get lost(): boolean {
    return this.#lost
  }

  push(batch: SettledBatch): void {
    if (this.#lost) return
    if (this.#waiting.length < WAITING_BATCHES_MAX) this.#waiting.push(batch)
    else this.lose()
    this.#wake()
  }

  lose(): void {
    this.#lost = true
    this.#waiting.length = 0
  }

  /** From here on batches wait again; to be called before the database is read. */
  catchUp(): void {
    this.#lost = false
  }

  /** The next batch with something behind `position`; undefined when batches were lost or the signal aborted. */
  async next(position: bigint): Promise<SettledBatch | undefined> {
    while (!this.#lost && !this.#signal.aborted) {
      const batch = this.#waiting.shift()
      if (batch !== undefined && batch.position > position) return behind(batch, position)
      if (batch === undefined) await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    return undefined
  }

  end(): void {
    this.#signal.removeEventListener('abort', this.#abort)
  }
}

/** The batch itself, which its readers share, unless it begins with what was read before. */
function behind(batch: SettledBatch, position: bigint): SettledBatch {
  const [first] = batch.requests
  if (first === undefined || first.position > position) return batch
  return { ...batch, requests: batch.requests.filter((request) => request.position > position) }
}
