import { DomainError } from '../errors.ts'
import type { Log } from '../log.ts'
import { BodyWriter, type BodyWriterDeps } from './body-writer.ts'
import type { AnswerPrice, KeptBody, StoringRun } from './idempotency-record.ts'
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

export interface IdempotentRunDeps extends BodyWriterDeps {
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
  readonly #id: StoringRun
  readonly #deps: IdempotentRunDeps
  readonly #writer: BodyWriter
  /** `keeping`: the answer is being written, and a failure leaves open whether it was. */
  #state: 'in_progress' | 'keeping' | 'answered' | 'done' = 'in_progress'
  /** Something came after the answer was kept, such as white space at its end. */
  #trailed = false

  constructor(id: StoringRun, deps: IdempotentRunDeps) {
    this.#id = id
    this.#deps = deps
    this.#writer = new BodyWriter(id, deps)
  }

  /** An answer is kept already. */
  get isAnswered(): boolean {
    return this.#state === 'answered' || this.#state === 'done'
  }

  /** Whether a repeat can get the response, as far as is known yet: false once it is too large or there is no room for it. */
  get isStored(): boolean {
    return !this.#writer.isDropped
  }

  /** The next bytes of a body that streams. */
  piece(bytes: Uint8Array): Promise<void> {
    this.#trailed = this.isAnswered
    return this.#writer.write(bytes)
  }

  /** Keeps the answer; fails with `conflict` when another process took the request over, and then nothing may be charged. */
  async answered({ status, headers, body, price }: AnswerToKeep): Promise<void> {
    if (body !== 'pieces') await this.#writer.write(body)
    let kept = await this.#writer.flush()
    this.#state = 'keeping'
    const { records, limits } = this.#deps
    const keep = (): Promise<boolean> => {
      const options = { state: stateAfter(price, kept), limits }
      return records.answered(this.#id, { status, headers, price, body: kept }, options)
    }
    let owned = await keep()
    if (!owned && kept.kind === 'inline') {
      // Perhaps only the room for the body was missing.
      await this.#writer.drop()
      kept = await this.#writer.flush()
      owned = await keep()
    }
    if (!owned) {
      throw new DomainError(
        'conflict',
        'Another process has taken over this request under its Idempotency-Key; retry to get the response',
        { retryAfterSeconds: 1 },
      )
    }
    this.#state = stateAfter(price, kept)
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
    if (this.#state === 'keeping' || this.#state === 'answered') await this.#write(() => records.releaseClaim(this.#id))
    this.#deps.ended()
  }

  async #write(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      this.#deps.log.warn('the end of an idempotent request could not be recorded; this is retried', {
        requestId: this.#id.requestId,
        error,
      })
      this.#deps.later(write)
    }
  }
}

/** What is not stored cannot be recovered: then a crash before the charge leaves the response unpaid. */
function stateAfter(price: AnswerPrice | null, body: KeptBody): 'answered' | 'done' {
  return price === null || body.kind === 'dropped' ? 'done' : 'answered'
}
