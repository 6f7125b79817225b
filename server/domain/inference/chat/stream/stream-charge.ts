import type { RequestContext } from '../../../caller.ts'
import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import type { Receipt, UsageOutcome } from '../../../metering/hold.ts'
import type { MeteredRequest } from '../../../metering/metered-request.ts'
import type { RoutedResponse } from '../../providers/provider-router.ts'
import type { ChatPlan } from '../plan/chat-plan.ts'
import { estimateUsage, type MeasuredChatUsage, measureUsage } from '../usage/chat-usage.ts'
import { toUnchargedUsage, toUsage } from '../usage/chat-usage-record.ts'

export interface StreamChargeParts {
  context: RequestContext
  plan: ChatPlan
  metered: MeteredRequest
  routed: RoutedResponse
  startedAtMs: number
  clock: Clock
  log: Log
}

/** What a stream was charged. */
export interface StreamCharged {
  usage: MeasuredChatUsage
  receipt: Receipt
}

/** Ends the hold of one stream, exactly once: by a charge or by a release. */
export class StreamCharge {
  readonly #parts: StreamChargeParts
  readonly #countCompletion: () => Promise<number>
  #begun = false

  constructor(parts: StreamChargeParts, countCompletion: () => Promise<number>) {
    this.#parts = parts
    this.#countCompletion = countCompletion
  }

  /** Whether the hold is charged or released, or about to be. */
  get begun(): boolean {
    return this.#begun
  }

  /** Charges a whole response by the provider's usage if it is sound. */
  async whole(reported: unknown): Promise<StreamCharged> {
    this.#begun = true
    return this.#settle(await this.#measure(reported), 'completed')
  }

  /** Charges what was delivered of a response that did not end by itself. */
  async part(outcome: UsageOutcome, reported?: unknown): Promise<StreamCharged> {
    this.#begun = true
    const usage =
      reported === undefined
        ? estimateUsage(this.#parts.plan, await this.#countCompletion())
        : await this.#measure(reported)
    return this.#settle(usage, outcome)
  }

  /** Charges nothing. */
  async release(): Promise<void> {
    if (this.#begun) return
    this.#begun = true
    const { context, plan, metered, routed, log } = this.#parts
    try {
      await metered.release(toUnchargedUsage(plan, { signal: context.signal, routed, durationMs: this.#durationMs }))
    } catch (error) {
      // The sweeper frees what could not be freed now; the caller needs to hear of the first failure.
      log.error('hold could not be released', { ...this.logFields, error })
    }
  }

  get logFields() {
    const { context, plan, routed } = this.#parts
    return { requestId: context.requestId, modelId: plan.resolved.model.id, providerId: routed.providerId }
  }

  #measure(reported: unknown): Promise<MeasuredChatUsage> {
    const { plan, metered } = this.#parts
    return measureUsage({ plan, metered, reported, countCompletion: this.#countCompletion })
  }

  async #settle(usage: MeasuredChatUsage, outcome: UsageOutcome): Promise<StreamCharged> {
    const { plan, metered, routed } = this.#parts
    const record = toUsage(usage, { plan, routed, outcome, durationMs: this.#durationMs })
    const tokens = usage.tokens.promptTokens + usage.tokens.completionTokens
    return { usage, receipt: await metered.settle(record, { tokens }) }
  }

  get #durationMs(): number {
    const { clock, startedAtMs } = this.#parts
    return clock.nowMs() - startedAtMs
  }
}
