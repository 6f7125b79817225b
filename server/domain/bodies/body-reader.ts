import { Worker } from 'node:worker_threads'
import { DomainError } from '../errors.ts'
import type { AnswerBody } from '../rpc/answer-reader.ts'
import type { Envelope } from '../rpc/envelope-scanner.ts'
import {
  BODY_TASKS,
  type BodyQuestion,
  type BodyResponse,
  type BodyResults,
  type BodyTask,
  parseJson,
} from './body-tasks.ts'

/** A body up to this size is parsed directly, which takes at most a few milliseconds. */
export const INLINE_BYTES_MAX = 64 * 1024
/** Scanning a response takes less time than parsing it. */
const INLINE_ANSWER_BYTES_MAX = 256 * 1024
/** Maximum number of request bodies waiting for the thread; each keeps its bytes in memory. */
const WAITING_MAX = 64
/** Parsing a 35 MB body takes about 150 MB of heap. */
const HEAP_MB_MAX = 512

interface Waiting {
  resolve: (response: BodyResponse) => void
  reject: (error: unknown) => void
}

/**
 * Reads request bodies and batch responses of nodes. Parsing 35 MB takes 100 ms or more, so large bodies are read in a
 * worker thread, started with the first one: they delay each other, but no other request.
 */
export class BodyReader {
  readonly #waiting = new Map<number, Waiting>()
  #thread: Worker | undefined
  #nextId = 0

  /**
   * Fails with `invalid_json` and `invalid_request`. May detach the given buffer; the returned one has the same bytes.
   */
  async readJson(raw: Buffer): Promise<{ raw: Buffer; parsed: unknown }> {
    if (!this.isLarge(raw)) return { raw, parsed: parseJson(raw) }
    this.#assertRoom()
    const { bytes, result } = await this.#run('json', ownBytes(raw))
    return { raw: Buffer.from(bytes.buffer), parsed: result }
  }

  /** Whether the body is large enough to delay other requests, so that the thread reads it. */
  isLarge(body: Buffer): boolean {
    return body.length > INLINE_BYTES_MAX
  }

  /** Like the function `scanEnvelope`; the given buffer stays usable. */
  async scanEnvelope(body: Buffer): Promise<Envelope> {
    if (!this.isLarge(body)) return BODY_TASKS.envelope(body)
    this.#assertRoom()
    return (await this.#run('envelope', new Uint8Array(body))).result
  }

  /**
   * Like the function `readAnswer`. May detach the given buffer; the returned one has the same bytes. Never rejected for
   * a full queue, because the response is already in memory and paid for.
   */
  async readAnswer(raw: Buffer): Promise<{ raw: Buffer; answer: AnswerBody | undefined }> {
    if (raw.length <= INLINE_ANSWER_BYTES_MAX) return { raw, answer: BODY_TASKS.answer(raw) }
    const { bytes, result } = await this.#run('answer', ownBytes(raw))
    return { raw: Buffer.from(bytes.buffer), answer: result }
  }

  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #assertRoom(): void {
    if (this.#waiting.size < WAITING_MAX) return
    const message = 'The service is currently reading too many large bodies; try again shortly'
    throw new DomainError('unavailable', message, { retryAfterSeconds: 1 })
  }

  async #run<Task extends BodyTask>(
    task: Task,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<{ bytes: Uint8Array<ArrayBuffer>; result: BodyResults[Task] }> {
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<BodyResponse>()
    this.#waiting.set(id, { resolve, reject })
    const question: BodyQuestion = { id, task, bytes }
    this.#startedThread().postMessage(question, [bytes.buffer])
    const response = await promise
    if (response.kind === 'result') {
      return { bytes: response.bytes, result: response.result as BodyResults[Task] }
    }
    if (response.kind === 'failed') throw response.error
    const { code, message, field, details } = response.error
    throw new DomainError(code, message, {
      ...(field === undefined ? {} : { field }),
      ...(details === undefined ? {} : { details }),
    })
  }

  #startedThread(): Worker {
    if (this.#thread !== undefined) return this.#thread
    const thread = new Worker(new URL('./body-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    })
    // The thread must not keep a finished process alive.
    thread.unref()
    thread.on('message', (response: BodyResponse) => {
      this.#waiting.get(response.id)?.resolve(response)
      this.#waiting.delete(response.id)
    })
    thread.on('error', (error) => this.#lose(thread, error))
    thread.on('exit', () => this.#lose(thread, new Error('the thread that reads large bodies has ended')))
    this.#thread = thread
    return thread
  }

  #lose(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    const message = 'A large body could not be read; try again shortly'
    for (const { reject } of waiting) reject(new DomainError('unavailable', message, { retryAfterSeconds: 1, cause }))
  }
}

/** The body's bytes as an array that owns its memory, so that it can move to another thread without a copy. */
function ownBytes(raw: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = raw
  if (buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength) {
    return new Uint8Array(buffer)
  }
  return new Uint8Array(raw)
}
