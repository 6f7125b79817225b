import { DomainError } from '../errors.ts'
import type { Log } from '../log.ts'
import { BodyWriter, type BodyWriterDependencies } from './body-writer.ts'
import type { AnswerPrice, RunId } from './idempotency-record.ts'
import type { IdempotencyRepository } from './idempotency-repository.ts'

/** An answer as a repeat will get it. */
export interface AnswerToKeep {
  status: number
  headers: Record<string, string>
  /** `pieces`: the body was given piece by piece. */
  body: Buffer | 'pieces'
  /** Null for an answer that costs nothing. */
  price: AnswerPrice | null
}

export interface IdempotentRunDependencies extends BodyWriterDependencies {
  records: IdempotencyRepository
  log: Log
  /** Takes a write that failed, to be tried again. */
  later: (write: () => Promise<void>) => void
  /** The run is over: whoever waits for it may look. */
  ended: () => void
}

/**
 * The one execution of a request under its idempotency key. It keeps its answer before the charge (`piece`, `answered`) and
 * ends with `finish` or `abandon`; neither fails, and one that cannot be written now is written later.
 */
export class IdempotentRun {
  readonly #id: RunId
  readonly #deps: IdempotentRunDependencies
  readonly #writer: BodyWriter
  /** `keeping`: the answer is being written, and a failure leaves open whether it was. */
  #state: 'in_progress' | 'keeping' | 'answered' | 'done' = 'in_progress'
  /** Something came after the answer was kept, such as white space at its end. */
  #trailed = false

  constructor(id: RunId, deps: IdempotentRunDependencies) {
    this.#id = id
    this.#deps = deps
    this.#writer = new BodyWriter(id, deps)
  }

  /** An answer is kept already. */
  get isAnswered(): boolean {
    return this.#state === 'answered' || this.#state === 'done'
  }

  /** The next bytes of a body that streams. */
  piece(bytes: Uint8Array): Promise<void> {
    this.#trailed = this.isAnswered
    return this.#writer.write(bytes)
  }

  /** Keeps the answer; fails with `conflict` when another process took the request over, and then nothing may be charged. */
  async answered({ status, headers, body, price }: AnswerToKeep): Promise<void> {
    if (body !== 'pieces') await this.#writer.write(body)
    const kept = await this.#writer.flush()
    this.#state = 'keeping'
    // What is not kept cannot be recovered: then a crash before the charge leaves the answer unpaid.
    const state = price === null || kept.kind === 'dropped' ? 'done' : 'answered'
    if (!(await this.#deps.records.answered(this.#id, { status, headers, price, body: kept }, state))) {
      throw new DomainError(
        'conflict',
        'Another process took this request over under its Idempotency-Key; send it again to get the answer',
        { retryAfterSeconds: 1 },
      )
    }
    this.#state = state
  }

  /** The answer is complete and charged. One that was never kept is forgotten. */
  async finish(): Promise<void> {
    if (!this.isAnswered) return this.abandon()
    if (this.#state === 'answered') {
      await this.#write(async () => {
        await this.#deps.records.finish(this.#id, this.#trailed ? await this.#writer.flush() : null)
      })
    }
    this.#state = 'done'
    this.#deps.ended()
  }

  /** The request failed: a repeat executes it anew, or only charges it when its answer is kept. */
  async abandon(): Promise<void> {
    const { records } = this.#deps
    if (!this.isAnswered) await this.#write(() => records.remove(this.#id))
    if (this.#state === 'keeping' || this.#state === 'answered') await this.#write(() => records.disown(this.#id))
    this.#deps.ended()
  }

  async #write(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      this.#deps.log.warn('the end of an idempotent request could not be recorded; it is tried again', {
        requestId: this.#id.requestId,
        error,
      })
      this.#deps.later(write)
    }
  }
}
