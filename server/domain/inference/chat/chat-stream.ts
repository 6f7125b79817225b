import { DomainError } from '../../errors.ts'
import { brokenAnswer } from '../read-json-answer.ts'
import type { TokenCounter } from '../token-counter.ts'
import { cleanUpstreamMessage } from '../upstream-message.ts'
import { type ProviderCompletion, readCompletion, toChoices } from './chat-completion.ts'
import { isRecord } from './completion-text.ts'
import { splitFinish } from './finish-frames.ts'
import { HoldGrowth } from './hold-growth.ts'
import { StreamCharge, type StreamCharged, type StreamChargeParts } from './stream-charge.ts'
import {
  DONE_FRAME,
  errorFrames,
  lengthFrames,
  responseChunk,
  type StreamIdentity,
  usageFrame,
} from './stream-frames.ts'
import type { StreamKey } from './stream-key.ts'
import { StreamMeter } from './stream-meter.ts'
import { StreamReader, toFrame } from './stream-reader.ts'
import { ThinkingChunkFilter } from './thinking.ts'

export interface ChatStreamParts extends StreamChargeParts {
  counter: TokenCounter
  key: StreamKey
}

const ENDED: IteratorResult<Buffer, undefined> = { done: true, value: undefined }

/**
 * One streamed response: the provider's frames as they come; then, once the charge is durable, the finish reasons, our
 * usage and cost, and the end mark. Whatever ends it, the request is settled or released exactly once: whole (charged),
 * client gone or key inactive (charged for the prompt and what was delivered), money ended (charged to the end of the
 * hold), provider broken (released).
 * An iterator by hand, since generators within generators would cost every chunk several turns of the event loop.
 */
export class ChatStreamRun implements AsyncIterableIterator<Buffer, undefined> {
  readonly #parts: ChatStreamParts
  readonly #reader: StreamReader
  readonly #meter: StreamMeter
  readonly #growth: HoldGrowth
  readonly #charge: StreamCharge
  readonly #source: AsyncIterator<Uint8Array>
  /** The response of a server that does not stream. */
  #whole: ProviderCompletion | undefined
  #delivered = false
  #sourceEnded = false
  /** Nothing more comes. */
  #closed = false
  /** Someone waits for the next bytes. */
  #busy = false
  /** The end that nobody has read yet, because the key became inactive while the client was slow. */
  #unread: Promise<IteratorResult<Buffer, undefined>> | undefined

  constructor(parts: ChatStreamParts) {
    this.#parts = parts
    const { plan, metered, counter, routed } = parts
    const thinkingFilter = plan.parameters.stripThinking ? new ThinkingChunkFilter() : undefined
    this.#reader = new StreamReader({ modelId: plan.resolved.model.id, thinkingFilter })
    this.#meter = new StreamMeter(counter)
    this.#growth = new HoldGrowth(plan, metered)
    this.#charge = new StreamCharge(parts, () => this.#meter.count())
    this.#source = routed.response.body[Symbol.asyncIterator]()
    parts.key.onInactive(() => this.#endUnread())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next bytes for the client. Rejects only before the first of them: then nothing was charged. */
  async next(): Promise<IteratorResult<Buffer, undefined>> {
    const unread = this.#unread
    this.#unread = undefined
    if (unread !== undefined) return unread
    if (this.#closed) return ENDED
    this.#busy = true
    try {
      const value = await (this.#isWholeAnswer() ? this.#advanceWhole() : this.#advance())
      this.#delivered = true
      return { done: false, value }
    } catch (error) {
      return await this.#fail(error)
    } finally {
      this.#busy = false
    }
  }

  /** The client reads no further. */
  async return(): Promise<IteratorResult<Buffer, undefined>> {
    if (!this.#closed) await this.#abandon()
    return ENDED
  }

  /** A server that cannot stream answers a stream request with plain JSON. */
  #isWholeAnswer(): boolean {
    return /^application\/(?:[\w.-]+\+)?json\b/i.test(this.#parts.routed.response.contentType)
  }

  async #advanceWhole(): Promise<Buffer> {
    const { plan, routed } = this.#parts
    if (this.#whole === undefined) {
      const body = { [Symbol.asyncIterator]: () => this.#source }
      this.#whole = await readCompletion({ ...routed.response, body })
      this.#sourceEnded = true
      const identity = this.#identity()
      this.#meter.add(toFrame(responseChunk(identity, this.#whole.choices)), 1)
      const { said } = splitFinish(responseChunk(identity, toChoices(this.#whole.choices, plan)))
      if (said !== undefined) return toFrame(said)
    }
    const { finish } = splitFinish(responseChunk(this.#identity(), toChoices(this.#whole.choices, plan)))
    const charged = await this.#charge.whole(this.#whole.body['usage'])
    return this.#end(charged, [finish === undefined ? Buffer.alloc(0) : toFrame(finish)])
  }

  async #advance(): Promise<Buffer> {
    const { key } = this.#parts
    while (!this.#sourceEnded && !this.#reader.done) {
      this.#assertSound()
      if (key.isInactive) throw key.failure()
      // The cheap bound first: only a stream that may have outgrown its hold is counted.
      if (this.#meter.isFull || this.#meter.boundTokens >= this.#growth.heldTokens) {
        const cover = await this.#growth.cover(await this.#meter.count())
        if (cover !== 'extended') return this.#cut(cover)
      }
      const { done, value } = await this.#source.next()
      if (done === true) this.#sourceEnded = true
      const piece = done === true ? this.#reader.readRest() : this.#reader.read(value)
      this.#meter.learnEnvelope(this.#reader.first)
      this.#meter.add(piece.received, piece.frames)
      if (piece.deliver.length > 0) return piece.deliver
    }
    this.#assertSound()
    if (!this.#isComplete()) throw brokenAnswer("The model provider's answer broke off.")
    this.#drain()
    return this.#end(await this.#charge.whole(this.#reader.usage), [this.#reader.finishes])
  }

  #assertSound(): void {
    if (this.#reader.failure !== undefined) throw reportedFailure(this.#reader.failure)
    if (this.#reader.overflowed) throw brokenAnswer('The model provider sent a chunk without an end.')
  }

  /** `[DONE]`, usage or a finish reason: some servers leave out two of the three. */
  #isComplete(): boolean {
    if (this.#reader.usage !== undefined || this.#reader.finishedChoices.size > 0) return true
    return this.#delivered && this.#reader.done
  }

  /** The hold cannot grow any more. */
  async #cut(reason: 'insufficient' | 'key_inactive' | 'lost'): Promise<Buffer> {
    const { key, plan } = this.#parts
    if (reason === 'key_inactive') throw key.failure()
    if (reason === 'lost') throw lostHold()
    this.#letSourceGo()
    const charged = await this.#charge.part('cut_by_balance')
    const { finishes, finishedChoices } = this.#reader
    return this.#end(charged, [finishes, lengthFrames(this.#identity(), plan.choices, finishedChoices)])
  }

  #end({ usage, receipt }: StreamCharged, finishes: readonly Buffer[]): Buffer {
    this.#close()
    return Buffer.concat([...finishes, usageFrame(this.#identity(), usage, receipt), DONE_FRAME])
  }

  async #fail(error: unknown): Promise<IteratorResult<Buffer, undefined>> {
    const { context, key, log } = this.#parts
    if (context.signal.aborted) {
      await this.#abandon()
      return ENDED
    }
    this.#close()
    this.#letSourceGo()
    if (this.#delivered && !this.#charge.begun && (key.isInactive || isInactiveKey(error))) return this.#endForKey()
    // Before the settlement, whatever is thrown comes from the provider's connection.
    const isOurs = this.#charge.begun || error instanceof DomainError
    const broken = isOurs ? error : brokenAnswer("The model provider's answer broke off.", error)
    const reason = key.isInactive && !this.#charge.begun ? key.failure() : broken
    await this.#charge.release()
    log.warn('answer broke off', { ...this.#charge.logFields, error })
    if (!this.#delivered) throw reason
    return { done: false, value: errorFrames(reason) }
  }

  /** The key or its account has ended: the owner pays for what was delivered. */
  async #endForKey(): Promise<IteratorResult<Buffer, undefined>> {
    const { key, log } = this.#parts
    try {
      const { usage, receipt } = await this.#charge.part('cut_by_key', this.#reader.usage)
      const last = usageFrame(this.#identity(), usage, receipt)
      return { done: false, value: Buffer.concat([last, errorFrames(key.failure())]) }
    } catch (error) {
      log.error('stream of an inactive key could not be charged', { ...this.#charge.logFields, error })
      return { done: false, value: errorFrames(error) }
    }
  }

  /** A client that does not read keeps nothing open. */
  #endUnread(): void {
    if (this.#busy || this.#closed || !this.#delivered) return
    this.#unread = this.#fail(this.#parts.key.failure())
  }

  async #abandon(): Promise<void> {
    this.#close()
    this.#letSourceGo()
    if (this.#charge.begun) return
    try {
      await this.#charge.part('client_disconnected', this.#reader.usage)
    } catch (error) {
      this.#parts.log.error('abandoned answer could not be charged', { ...this.#charge.logFields, error })
    }
  }

  #close(): void {
    this.#closed = true
    this.#parts.key.release()
  }

  /** Reads a source to its end without waiting for it, so that its connection can serve the next request. */
  #drain(): void {
    if (this.#sourceEnded) return
    this.#sourceEnded = true
    this.#source
      .next()
      .then(({ done }) => (done === true ? undefined : this.#source.return?.()))
      .catch(() => undefined)
  }

  #letSourceGo(): void {
    if (this.#sourceEnded) return
    this.#sourceEnded = true
    this.#source.return?.().catch(() => undefined)
  }

  #identity(): StreamIdentity {
    const { id, created } = this.#whole?.body ?? this.#reader.first ?? {}
    const { context, clock, plan } = this.#parts
    return {
      id: typeof id === 'string' ? id : `chatcmpl-${context.requestId}`,
      created: typeof created === 'number' ? created : Math.floor(clock.nowMs() / 1_000),
      model: plan.resolved.model.id,
    }
  }
}

function isInactiveKey(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'unauthenticated'
}

function lostHold(): DomainError {
  return new DomainError(
    'hold_lost',
    'The request lost its reservation before it ended and was not charged; send it again',
    { retryAfterSeconds: 1 },
  )
}

/** The provider's own words, cleaned. */
function reportedFailure(failure: unknown): DomainError {
  const words = isRecord(failure) ? failure['message'] : failure
  const reason = typeof words === 'string' ? cleanUpstreamMessage(words) : undefined
  return brokenAnswer(reason === undefined ? 'The model provider failed.' : `The model provider failed: ${reason}`)
}
