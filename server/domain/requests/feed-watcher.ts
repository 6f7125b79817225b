import type { SettledBatch } from './request-record.ts'

/** A watcher with a longer backlog loses it, and reads the database when it resumes. */
const WAITING_BATCHES_MAX = 20

/** The backlog of one reader of a feed: a bounded queue of batches shared with the other readers. */
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

  /** Whether batches were dropped; the reader must then read the database. */
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

  /** Resumes queueing batches; call it before reading the database. */
  catchUp(): void {
    this.#lost = false
  }

  /** The next batch with requests after `position`; undefined if batches were lost or the signal aborted. */
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

/** Returns the shared batch itself, unless it begins with requests that were already read. */
function behind(batch: SettledBatch, position: bigint): SettledBatch {
  const [first] = batch.requests
  if (first === undefined || first.position > position) return batch
  return { ...batch, requests: batch.requests.filter((request) => request.position > position) }
}
