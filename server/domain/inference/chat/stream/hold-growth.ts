import type { MeteredRequest } from '../../../metering/metered-request.ts'
import type { ExtendOutcome } from '../../../metering/money-item.ts'
import { extendHold } from '../../tokens/extend-hold.ts'
import type { ChatPlan } from '../plan/chat-plan.ts'

const SLICE_TOKENS_MIN = 256
const LAST_SLICE_TOKENS = 16
/** Our count may exceed the provider's: a stream within its limit by the provider's count must not be cut by ours. */
const TOLERANCE = 1.125
const TOLERANCE_TOKENS = 16

/** Extends the hold of a stream that writes more than it covers, until the balance runs out. */
export class HoldGrowth {
  readonly #plan: ChatPlan
  readonly #metered: MeteredRequest
  #heldTokens: number
  #end: Exclude<ExtendOutcome, 'extended'> | undefined

  constructor(plan: ChatPlan, metered: MeteredRequest) {
    this.#plan = plan
    this.#metered = metered
    // If output is free, no length costs more than the hold.
    this.#heldTokens = plan.resolved.pricing.outputIsFree ? Number.POSITIVE_INFINITY : plan.heldCompletionTokens
  }

  get heldTokens(): number {
    return this.#heldTokens
  }

  /** Extends the hold if needed; the result says whether a stream with this many tokens may continue, or why not. */
  async cover(tokens: number): Promise<ExtendOutcome> {
    while (this.#end === undefined && tokens >= this.#heldTokens) await this.#extend()
    if (this.#end === undefined) return 'extended'
    const isWithin = tokens < this.#heldTokens * TOLERANCE + TOLERANCE_TOKENS
    return this.#end === 'insufficient' && isWithin ? 'extended' : this.#end
  }

  async #extend(): Promise<void> {
    const wanted = Math.max(SLICE_TOKENS_MIN, Math.ceil(this.#plan.heldCompletionTokens / 4))
    for (let slice = wanted; slice >= LAST_SLICE_TOKENS; slice = Math.floor(slice / 4)) {
      const result = await extendHold(this.#metered, this.#priceOf(slice))
      if (result === 'extended') {
        this.#heldTokens += slice
        return
      }
      if (result === 'undecided') break
      if (result !== 'insufficient') {
        this.#end = result
        return
      }
    }
    this.#end = 'insufficient'
  }

  #priceOf(completionTokens: number): bigint {
    const { resolved, promptTokens } = this.#plan
    const whole = resolved.pricing.worstCaseNanoUsd({ promptTokens, completionTokens })
    return whole - resolved.pricing.worstCaseNanoUsd({ promptTokens, completionTokens: 0 })
  }
}
