import { Worker } from 'node:worker_threads'
import type { TokenCount } from './exact-token-count.ts'

const WORKERS_MAX = 2
/** Each thread has its own copy of the encoding, so an idle one is stopped. */
const IDLE_MS_MAX = 60_000

interface Waiter {
  resolve: (count: TokenCount) => void
  reject: (error: unknown) => void
}

/**
 * Threads that count the tokens of long texts, started on demand. Work is requested slice by slice, so that concurrent
 * texts share the threads evenly.
 */
export class TokenCountPool {
  readonly #threads: CountingThread[] = []

  /** Rejects if the thread fails. */
  count(text: string): Promise<TokenCount> {
    return this.#leastBusy().count(text)
  }

  #leastBusy(): CountingThread {
    const [first] = this.#threads.toSorted((a, b) => a.pending - b.pending)
    if (first !== undefined && (first.pending === 0 || this.#threads.length >= WORKERS_MAX)) return first
    const thread = new CountingThread(() => void this.#threads.splice(this.#threads.indexOf(thread), 1))
    this.#threads.push(thread)
    return thread
  }
}

class CountingThread {
  readonly #worker = new Worker(new URL('./token-count-worker.ts', import.meta.url))
  readonly #waiting = new Map<number, Waiter>()
  readonly #ended: () => void
  #lastId = 0
  #idle: NodeJS.Timeout | undefined

  constructor(ended: () => void) {
    this.#ended = ended
    this.#worker.on('message', ({ id, count }: { id: number; count: TokenCount }) => {
      this.#waiting.get(id)?.resolve(count)
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) this.#idle = setTimeout(() => this.#end(), IDLE_MS_MAX).unref()
    })
    this.#worker.on('error', (error) => this.#end(error))
    // Shutdown does not wait for a count.
    this.#worker.unref()
  }

  get pending(): number {
    return this.#waiting.size
  }

  count(text: string): Promise<TokenCount> {
    clearTimeout(this.#idle)
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#worker.postMessage({ id, text }, [])
    })
  }

  #end(error?: unknown): void {
    this.#ended()
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
    void this.#worker.terminate()
  }
}
