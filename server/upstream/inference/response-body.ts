import type { Dispatcher } from 'undici'
import { timedOut } from './transport-error.ts'

const PAUSE_ABOVE_BYTES = 262_144

interface Waiter {
  resolve: (result: IteratorResult<Uint8Array, undefined>) => void
  reject: (error: unknown) => void
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/**
 * A response body from undici, for exactly one reader. Chunks that arrive in one socket read are merged, because
 * parsing and forwarding cost per chunk; beyond 256 KiB unread the socket is paused. Leaving the loop early aborts the
 * exchange, and so does an upstream that keeps its reader waiting for `waitMsMax` in total.
 */
export class ResponseBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #controller: Dispatcher.DispatchController
  #chunks: Uint8Array[] = []
  #size = 0
  #ended = false
  #error: unknown
  #waiter: Waiter | undefined
  #wakeScheduled = false
  readonly #waitMsMax: number
  #waitedMs = 0
  #waitsSinceMs = 0

  constructor(controller: Dispatcher.DispatchController, waitMsMax: number) {
    this.#controller = controller
    this.#waitMsMax = waitMsMax
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size > PAUSE_ABOVE_BYTES) this.#controller.pause()
    this.#countWait()
    this.#wake()
  }

  end(): void {
    this.#ended = true
    this.#wake()
  }

  /** Data that arrived before the failure is still delivered first. */
  fail(error: unknown): void {
    this.#error = error
    this.#wake()
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#size > 0) return Promise.resolve({ done: false, value: this.#take() })
    if (this.#error !== undefined) return Promise.reject(this.#error)
    if (this.#ended) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
      this.#waitsSinceMs = performance.now()
    })
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#ended && this.#error === undefined) {
      this.#controller.abort(new Error('the reader left before the end of the body'))
    }
    this.#ended = true
    this.#chunks = []
    this.#size = 0
    return Promise.resolve(DONE)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Counted when a chunk ends a wait; the idle timeout of the pool limits a wait that never ends. */
  #countWait(): void {
    if (this.#waiter === undefined || this.#wakeScheduled) return
    this.#waitedMs += performance.now() - this.#waitsSinceMs
    if (this.#waitedMs > this.#waitMsMax) this.#controller.abort(timedOut())
  }

  /** Deferred by a microtask: by then the parser has delivered the whole socket read. */
  #wake(): void {
    if (this.#waiter === undefined || this.#wakeScheduled) return
    this.#wakeScheduled = true
    queueMicrotask(() => {
      const waiter = this.#waiter
      this.#waiter = undefined
      this.#wakeScheduled = false
      if (this.#size > 0) waiter?.resolve({ done: false, value: this.#take() })
      else if (this.#error !== undefined) waiter?.reject(this.#error)
      else if (this.#ended) waiter?.resolve(DONE)
    })
  }

  #take(): Uint8Array {
    const [first] = this.#chunks
    const taken = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#size)
    const paused = this.#size > PAUSE_ABOVE_BYTES
    this.#chunks = []
    this.#size = 0
    // Last, because resuming may push more data at once.
    if (paused) this.#controller.resume()
    return taken
  }
}
