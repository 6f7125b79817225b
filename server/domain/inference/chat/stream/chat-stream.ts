import type { RequestContext } from '../../../caller.ts'
import type { Clock } from '../../../clock.ts'
import { DomainError } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { holdLost } from '../../../metering/admission-error.ts'
import type { RoutedResponse } from '../../providers/provider-router.ts'
import { brokenAnswer } from '../../providers/read-json-answer.ts'
import type { TokenCounter } from '../../tokens/token-counter.ts'
import { type ProviderCompletion, readCompletion, toChoices } from '../openai-wire/chat-completion.ts'
import { responseChunk, toFrame } from '../openai-wire/chunk.ts'
import { splitFinish } from '../openai-wire/finish-frames.ts'
import { OpenAiPassage } from '../openai-wire/openai-passage.ts'
import { StreamReader } from '../openai-wire/stream-reader.ts'
import { ThinkingChunkFilter } from '../openai-wire/thinking.ts'
import type { ChatStreamEvent, EncodeChatStream, StreamIdentity } from './chat-stream-events.ts'
import { HoldGrowth } from './hold-growth.ts'
import { StreamCharge, type StreamCharged, type StreamChargeParts } from './stream-charge.ts'
import { isInactiveKey, reportedFailure } from './stream-failures.ts'
import type { StreamKey } from './stream-key.ts'
import { StreamMeter } from './stream-meter.ts'

export interface ChatStreamParts extends StreamChargeParts {
  context: RequestContext
  routed: RoutedResponse
  counter: TokenCounter
  key: StreamKey
  encode: EncodeChatStream
  clock: Clock
  log: Log
}

const ENDED: IteratorResult<Buffer, undefined> = { done: true, value: undefined }

/**
 * One streamed response in the caller's wire format: the provider's content as it arrives; then, once the charge is
 * durable, the finish reasons, usage, cost and end. However it ends, the request is settled or released exactly once:
 * complete (charged), client disconnected or key inactive (charged for the prompt and the delivered part), balance
 * exhausted (charged up to the hold), provider failed (released). The iterator is written by hand, because nested
 * generators would cost several turns of the event loop per chunk.
 */
export class ChatStreamRun implements AsyncIterableIterator<Buffer, undefined> {
  readonly #parts: ChatStreamParts
  readonly #reader: StreamReader
  readonly #meter: StreamMeter
  readonly #growth: HoldGrowth
  readonly #charge: StreamCharge
  readonly #source: AsyncIterator<Uint8Array>
  #whole: ProviderCompletion | undefined
  #delivered = false
  #sourceEnded = false
  #closed = false
  #busy = false
  /** The end of the stream, unread because the key became inactive while the client was slow. */
  #unread: Promise<IteratorResult<Buffer, undefined>> | undefined

  constructor(parts: ChatStreamParts) {
    this.#parts = parts
    const { plan, run, counter, routed } = parts
    const thinkingFilter = plan.parameters.stripThinking ? new ThinkingChunkFilter() : undefined
    this.#reader = new StreamReader({ modelId: plan.resolved.model.id, thinkingFilter })
    this.#meter = new StreamMeter(counter)
    this.#growth = new HoldGrowth(plan, run.metered)
    this.#charge = new StreamCharge(parts, () => this.#meter.count())
    this.#source = routed.response.body[Symbol.asyncIterator]()
    parts.key.onInactive(() => this.#endUnread())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next bytes for the client. Rejects only before the first bytes, when nothing was charged. */
  async next(): Promise<IteratorResult<Buffer, undefined>> {
    const unread = this.#unread
    this.#unread = undefined
    if (unread !== undefined) return unread
    if (this.#closed) return ENDED
    this.#busy = true
    try {
      const events = await (this.#isWholeAnswer() ? this.#advanceWhole() : this.#advance())
      this.#delivered = true
      return this.#encoded(events)
    } catch (error) {
      return await this.#fail(error)
    } finally {
      this.#busy = false
    }
  }

  async return(): Promise<IteratorResult<Buffer, undefined>> {
    if (!this.#closed) await this.#abandon()
    return ENDED
  }

  /** Some servers cannot stream and send plain JSON instead. */
  #isWholeAnswer(): boolean {
    return /^application\/(?:[\w.-]+\+)?json\b/i.test(this.#parts.routed.response.contentType)
  }

  async #advanceWhole(): Promise<ChatStreamEvent[]> {
    const { plan, routed } = this.#parts
    if (this.#whole === undefined) {
      const body = { [Symbol.asyncIterator]: () => this.#source }
      this.#whole = await readCompletion({ ...routed.response, body })
      this.#sourceEnded = true
      const identity = this.#identity()
      this.#meter.add(toFrame(responseChunk(identity, this.#whole.choices)), 1)
      const { said } = splitFinish(responseChunk(identity, toChoices(this.#whole.choices, plan)))
      if (said !== undefined) return [saidAs(toFrame(said))]
    }
    const { finish } = splitFinish(responseChunk(this.#identity(), toChoices(this.#whole.choices, plan)))
    const charged = await this.#charge.whole(this.#whole.body['usage'])
    return this.#end(charged, finish === undefined ? [] : [finishedAs(toFrame(finish))])
  }

  async #advance(): Promise<ChatStreamEvent[]> {
    const { key } = this.#parts
    while (!this.#sourceEnded && !this.#reader.done) {
      this.#assertSound()
      if (key.isInactive) throw key.failure()
      // Checks the cheap bound first, so that only a stream that may exceed its hold is counted.
      if (this.#meter.isFull || this.#meter.boundTokens >= this.#growth.heldTokens) {
        const cover = await this.#growth.cover(await this.#meter.count())
        if (cover !== 'extended') return this.#cut(cover)
      }
      const { done, value } = await this.#source.next()
      if (done === true) this.#sourceEnded = true
      const piece = done === true ? this.#reader.readRest() : this.#reader.read(value)
      this.#meter.learnEnvelope(this.#reader.first)
      this.#meter.add(piece.received, piece.frames)
      if (piece.deliver.length > 0) return [saidAs(piece.deliver)]
    }
    this.#assertSound()
    if (!this.#isComplete()) throw brokenAnswer("The model provider's response ended early.")
    this.#drain()
    return this.#end(await this.#charge.whole(this.#reader.usage), [finishedAs(this.#reader.finishes)])
  }

  #assertSound(): void {
    if (this.#reader.failure !== undefined) throw reportedFailure(this.#reader.failure)
    if (this.#reader.overflowed) throw brokenAnswer('The model provider sent an endless chunk.')
  }

  /** `[DONE]`, usage or a finish reason: some servers send only one of the three. */
  #isComplete(): boolean {
    if (this.#reader.usage !== undefined || this.#reader.finishedChoices.size > 0) return true
    return this.#delivered && this.#reader.done
  }

  async #cut(reason: 'insufficient' | 'key_inactive' | 'lost'): Promise<ChatStreamEvent[]> {
    const { key, plan } = this.#parts
    if (reason === 'key_inactive') throw key.failure()
    if (reason === 'lost') throw holdLost()
    this.#cancelUpstream()
    const charged = await this.#charge.part('cut_by_balance')
    const { finishes, finishedChoices } = this.#reader
    const all = Array.from({ length: plan.choices }, (_, index) => index)
    const choices = all.filter((index) => !finishedChoices.has(index))
    return this.#end(charged, [finishedAs(finishes), { kind: 'cut', choices }])
  }

  #end({ usage, receipt }: StreamCharged, finishes: readonly ChatStreamEvent[]): ChatStreamEvent[] {
    this.#close()
    return [...finishes, { kind: 'charged', usage, receipt }, { kind: 'ended' }]
  }

  #encoded(events: readonly ChatStreamEvent[]): IteratorResult<Buffer, undefined> {
    return { done: false, value: this.#parts.encode(events, this.#identity) }
  }

  async #fail(error: unknown): Promise<IteratorResult<Buffer, undefined>> {
    const { context, key, log } = this.#parts
    if (context.signal.aborted) {
      await this.#abandon()
      return ENDED
    }
    this.#close()
    this.#cancelUpstream()
    if (this.#delivered && !this.#charge.begun && (key.isInactive || isInactiveKey(error))) return this.#endForKey()
    // Before the settlement, any other error comes from the provider's connection.
    const isOurs = this.#charge.begun || error instanceof DomainError
    const broken = isOurs ? error : brokenAnswer("The model provider's response ended early.", error)
    const reason = key.isInactive && !this.#charge.begun ? key.failure() : broken
    await this.#charge.release()
    log.warn('response ended early', { ...this.#logFields, error })
    if (!this.#delivered) throw reason
    return this.#encoded([{ kind: 'failed', error: reason }])
  }

  /** Ends the stream when the key or its account becomes inactive; the owner pays for the delivered part. */
  async #endForKey(): Promise<IteratorResult<Buffer, undefined>> {
    const { key, log } = this.#parts
    try {
      const { usage, receipt } = await this.#charge.part('cut_by_key', this.#reader.usage)
      return this.#encoded([
        { kind: 'charged', usage, receipt },
        { kind: 'failed', error: key.failure() },
      ])
    } catch (error) {
      log.error('stream of an inactive key could not be charged', { ...this.#logFields, error })
      return this.#encoded([{ kind: 'failed', error }])
    }
  }

  /** Ends the stream without waiting for the client, so that a slow client keeps nothing open. */
  #endUnread(): void {
    if (this.#busy || this.#closed || !this.#delivered) return
    this.#unread = this.#fail(this.#parts.key.failure())
  }

  async #abandon(): Promise<void> {
    this.#close()
    this.#cancelUpstream()
    if (this.#charge.begun) return
    try {
      await this.#charge.part('client_disconnected', this.#reader.usage)
    } catch (error) {
      this.#parts.log.error('abandoned response could not be charged', { ...this.#logFields, error })
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

  #cancelUpstream(): void {
    if (this.#sourceEnded) return
    this.#sourceEnded = true
    this.#source.return?.().catch(() => undefined)
  }

  get #logFields() {
    const { context, plan, routed } = this.#parts
    return { requestId: context.requestId, modelId: plan.resolved.model.id, providerId: routed.upstreamId }
  }

  readonly #identity = (): StreamIdentity => {
    const { id, created } = this.#whole?.body ?? this.#reader.first ?? {}
    const { context, clock, plan } = this.#parts
    return {
      id: typeof id === 'string' ? id : `chatcmpl-${context.requestId}`,
      createdSeconds: typeof created === 'number' ? created : Math.floor(clock.nowMs() / 1_000),
      model: plan.resolved.model.id,
    }
  }
}

function saidAs(bytes: Buffer): ChatStreamEvent {
  return { kind: 'said', passage: new OpenAiPassage(bytes) }
}

function finishedAs(bytes: Buffer): ChatStreamEvent {
  return { kind: 'finished', passage: new OpenAiPassage(bytes) }
}
