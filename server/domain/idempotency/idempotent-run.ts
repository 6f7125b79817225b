import { DomainError } from '../errors.ts'
import type { Log } from '../log.ts'
import { BodyWriter, type BodyWriterDeps } from './body-writer.ts'
import type { AnswerPrice, KeptBody, StoringRun } from './idempotency-record.ts'
import type { IdempotencyRepository } from './idempotency-repository.ts'

export interface AnswerToKeep {
  status: number
  headers: Record<string, string>
  /** `pieces`: the body was streamed through `piece`. */
  body: Buffer | 'pieces'
  /** Null for a free response. */
  price: AnswerPrice | null
}

export interface IdempotentRunDeps extends BodyWriterDeps {
  records: IdempotencyRepository
  log: Log
  later: (write: () => Promise<void>) => void
  /** Called at the end of the run to wake waiting duplicates. */
  ended: () => void
}

/**
 * The single execution of a request under its idempotency key. It stores its response before the charge (`piece`,
 * `answered`) and ends with `finish` or `abandon`. Neither of these fails: a failed write is retried later.
 */
export class IdempotentRun {
  readonly #id: StoringRun
  readonly #deps: IdempotentRunDeps
  readonly #writer: BodyWriter
  /** `keeping`: the response is being written, so a failure leaves open whether it was stored. */
  #state: 'in_progress' | 'keeping' | 'answered' | 'done' = 'in_progress'
  /** Bytes arrived after the response was stored, such as trailing white space. */
  #trailed = false

  constructor(id: StoringRun, deps: IdempotentRunDeps) {
    this.#id = id
    this.#deps = deps
    this.#writer = new BodyWriter(id, deps)
  }

  get isAnswered(): boolean {
    return this.#state === 'answered' || this.#state === 'done'
  }

  /** Whether a repeat can get the response, as far as known: false once it is too large or exceeds the quota. */
  get isStored(): boolean {
    return !this.#writer.isDropped
  }

  piece(bytes: Uint8Array): Promise<void> {
    this.#trailed = this.isAnswered
    return this.#writer.write(bytes)
  }

  /**
   * Stores the response; fails with `conflict` if another process took the request over, in which case nothing may be
   * charged.
   */
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
      // Perhaps only the body exceeded the quota.
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

  /** Marks the response as complete and charged. A response that was never stored is deleted. */
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

  /** Marks the request as failed: a repeat executes it again, or only charges it if its response is stored. */
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

/** An unstored response cannot be recovered: a crash before the charge leaves it unpaid. */
function stateAfter(price: AnswerPrice | null, body: KeptBody): 'answered' | 'done' {
  return price === null || body.kind === 'dropped' ? 'done' : 'answered'
}
