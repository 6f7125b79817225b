import type { RequestContext } from '../../auth/caller.ts'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { UsageOutcome } from '../../metering/hold.ts'
import type { MeteredRequest } from '../../metering/metered-request.ts'
import type { RoutedResponse } from '../provider-router.ts'
import { brokenAnswer } from '../read-json-answer.ts'
import type { TokenCounter } from '../token-counter.ts'
import { cleanUpstreamMessage } from '../upstream-message.ts'
import { type ProviderCompletion, readCompletion, toChoices } from './chat-completion.ts'
import type { ChatPlan } from './chat-plan.ts'
import { estimateUsage, type MeasuredUsage, measureUsage } from './chat-usage.ts'
import { toUnchargedUsage, toUsage } from './chat-usage-record.ts'
import { isRecord } from './completion-text.ts'
import { HoldGrowth } from './hold-growth.ts'
import { answerFrame, endFrames, errorFrames, lengthFrames, type StreamIdentity } from './stream-frames.ts'
import { StreamMeter } from './stream-meter.ts'
import { StreamReader } from './stream-reader.ts'
import { ThinkingChunkFilter } from './thinking.ts'

export interface ChatStreamParts {
  context: RequestContext
  plan: ChatPlan
  metered: MeteredRequest
  routed: RoutedResponse
  startedAtMs: number
  counter: TokenCounter
  clock: Clock
  log: Log
}

const ENDED: IteratorResult<Buffer, undefined> = { done: true, value: undefined }

/**
 * One streamed answer: the provider's frames as they come, then our usage and cost once the charge is durable, then the
 * end mark. Whatever ends it, the request is settled or released exactly once: whole (charged), client gone (charged for
 * the prompt and what was delivered), money ended (charged to the end of the hold), provider broken (released).
 * An iterator by hand, since generators within generators would cost every chunk several turns of the event loop.
 */
export class ChatStreamRun implements AsyncIterableIterator<Buffer, undefined> {
  readonly #parts: ChatStreamParts
  readonly #reader: StreamReader
  readonly #meter: StreamMeter
  readonly #growth: HoldGrowth
  readonly #source: AsyncIterator<Uint8Array>
  /** The answer of a server that does not stream. */
  #whole: ProviderCompletion | undefined
  #delivered = false
  #sourceEnded = false
  /** Nothing more comes. */
  #closed = false
  /** The hold is settled or released, or someone is at it. */
  #metered = false

  constructor(parts: ChatStreamParts) {
    this.#parts = parts
    const { plan, metered, counter, routed } = parts
    const thinkingFilter = plan.parameters.stripThinking ? new ThinkingChunkFilter() : undefined
    this.#reader = new StreamReader({ modelId: plan.resolved.model.id, thinkingFilter })
    this.#meter = new StreamMeter(counter)
    this.#growth = new HoldGrowth(plan, metered)
    this.#source = routed.response.body[Symbol.asyncIterator]()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next bytes for the client. Rejects only before the first of them: then nothing was charged. */
  async next(): Promise<IteratorResult<Buffer, undefined>> {
    if (this.#closed) return ENDED
    try {
      const value = await (this.#isWholeAnswer() ? this.#advanceWhole() : this.#advance())
      this.#delivered = true
      return { done: false, value }
    } catch (error) {
      return this.#fail(error)
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
    if (this.#whole !== undefined) return this.#end('completed', this.#whole.body['usage'])
    const { plan, routed } = this.#parts
    const body = { [Symbol.asyncIterator]: () => this.#source }
    this.#whole = await readCompletion({ ...routed.response, body })
    this.#sourceEnded = true
    const identity = this.#identity()
    this.#meter.add(answerFrame(identity, this.#whole.choices), 1)
    return answerFrame(identity, toChoices(this.#whole.choices, plan))
  }

  async #advance(): Promise<Buffer> {
    while (!this.#sourceEnded && !this.#reader.done) {
      this.#assertSound()
      // The cheap bound first: only a stream that may have outgrown its hold is counted.
      if (this.#meter.boundTokens >= this.#growth.heldTokens && !(await this.#growth.covers(this.#meter.count()))) {
        return this.#end('cut_by_balance', undefined)
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
    return this.#end('completed', this.#reader.usage)
  }

  #assertSound(): void {
    if (this.#reader.failure !== undefined) throw reportedFailure(this.#reader.failure)
    if (this.#reader.overflowed) throw brokenAnswer('The model provider sent a chunk without an end.')
  }

  /** `[DONE]`, usage or a finish reason: some servers leave out two of the three. */
  #isComplete(): boolean {
    if (this.#reader.usage !== undefined) return true
    if (!this.#delivered) return false
    if (this.#reader.done) return true
    this.#meter.count()
    return this.#meter.finished
  }

  async #end(outcome: 'completed' | 'cut_by_balance', reported: unknown): Promise<Buffer> {
    const { plan, metered } = this.#parts
    if (outcome === 'cut_by_balance') this.#letSourceGo()
    const countCompletion = (): number => this.#meter.count()
    const heldNanoUsd = metered.hold.amountNanoUsd
    const usage = measureUsage({ plan, reported, heldNanoUsd, countCompletion })
    const receipt = await this.#settle(usage, outcome)
    this.#closed = true
    const identity = this.#identity()
    const end = endFrames(identity, usage, receipt)
    return outcome === 'completed' ? end : Buffer.concat([lengthFrames(identity, plan.choices), end])
  }

  async #fail(error: unknown): Promise<IteratorResult<Buffer, undefined>> {
    const { context, log } = this.#parts
    if (context.signal.aborted) {
      await this.#abandon()
      return ENDED
    }
    this.#closed = true
    this.#letSourceGo()
    // Before the settlement, whatever is thrown comes from the provider's connection.
    const isOurs = this.#metered || error instanceof DomainError
    const reason = isOurs ? error : brokenAnswer("The model provider's answer broke off.", error)
    await this.#release()
    log.warn('answer broke off', { ...this.#logFields(), error })
    if (!this.#delivered) throw reason
    return { done: false, value: errorFrames(reason) }
  }

  async #abandon(): Promise<void> {
    this.#closed = true
    this.#letSourceGo()
    await this.#settleAbandoned()
  }

  #settle(usage: MeasuredUsage, outcome: UsageOutcome) {
    this.#metered = true
    const { plan, metered, routed, clock, startedAtMs } = this.#parts
    const record = toUsage(usage, { plan, routed, outcome, durationMs: clock.nowMs() - startedAtMs })
    return metered.settle(record, { tokens: usage.tokens.promptTokens + usage.tokens.completionTokens })
  }

  async #release(): Promise<void> {
    this.#metered = true
    const { context, plan, metered, routed, clock, startedAtMs } = this.#parts
    const durationMs = clock.nowMs() - startedAtMs
    try {
      await metered.release(toUnchargedUsage(plan, { signal: context.signal, routed, durationMs }))
    } catch (error) {
      // The sweeper frees what could not be freed now; the caller needs to hear of the first failure.
      this.#parts.log.error('hold could not be released', { ...this.#logFields(), error })
    }
  }

  /** The client left, by its signal or by reading no further: it pays for the prompt and what it got. */
  async #settleAbandoned(): Promise<void> {
    if (this.#metered) return
    const { plan, metered } = this.#parts
    const countCompletion = (): number => this.#meter.count()
    const reported = this.#reader.usage
    const heldNanoUsd = metered.hold.amountNanoUsd
    const usage =
      reported === undefined
        ? estimateUsage(plan, countCompletion())
        : measureUsage({ plan, reported, heldNanoUsd, countCompletion })
    try {
      await this.#settle(usage, 'client_disconnected')
    } catch (error) {
      this.#parts.log.error('abandoned answer could not be charged', { ...this.#logFields(), error })
    }
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

  #logFields() {
    const { context, plan, routed } = this.#parts
    return { requestId: context.requestId, modelId: plan.resolved.model.id, providerId: routed.providerId }
  }
}

/** The provider's own words, cleaned. */
function reportedFailure(failure: unknown): DomainError {
  const words = isRecord(failure) ? failure['message'] : failure
  const reason = typeof words === 'string' ? cleanUpstreamMessage(words) : undefined
  return brokenAnswer(reason === undefined ? 'The model provider failed.' : `The model provider failed: ${reason}`)
}
