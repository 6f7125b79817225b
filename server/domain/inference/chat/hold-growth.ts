import type { MeteredRequest } from '../../metering/metered-request.ts'
import type { ChatPlan } from './chat-plan.ts'

const SLICE_TOKENS_MIN = 256
const LAST_SLICE_TOKENS = 16
/** Our count may be above the provider's: a stream that keeps its limit by the provider's is not cut by ours. */
const TOLERANCE = 1.125
const TOLERANCE_TOKENS = 16

/** Lets a hold grow with a stream that writes more than was held for, until the money ends. */
export class HoldGrowth {
  readonly #plan: ChatPlan
  readonly #metered: MeteredRequest
  #heldTokens: number
  #moneyEnded = false

  constructor(plan: ChatPlan, metered: MeteredRequest) {
    this.#plan = plan
    this.#metered = metered
    // Where output is free, no length costs more than was held.
    this.#heldTokens = plan.resolved.pricing.outputIsFree ? Number.POSITIVE_INFINITY : plan.heldCompletionTokens
  }

  /** Completion tokens that the hold pays for. */
  get heldTokens(): number {
    return this.#heldTokens
  }

  /** Whether a stream of so many tokens may go on; extends the hold where it must. */
  async covers(tokens: number): Promise<boolean> {
    if (tokens < this.#heldTokens) return true
    while (!this.#moneyEnded && tokens >= this.#heldTokens) await this.#extend()
    return tokens < this.#heldTokens * TOLERANCE + TOLERANCE_TOKENS
  }

  async #extend(): Promise<void> {
    const wanted = Math.max(SLICE_TOKENS_MIN, Math.ceil(this.#plan.heldCompletionTokens / 4))
    for (let slice = wanted; slice >= LAST_SLICE_TOKENS; slice = Math.floor(slice / 4)) {
      if ((await this.#metered.extend(this.#priceOf(slice))) !== 'extended') continue
      this.#heldTokens += slice
      return
    }
    this.#moneyEnded = true
  }

  #priceOf(completionTokens: number): bigint {
    const { resolved, promptTokens } = this.#plan
    const whole = resolved.pricing.worstCaseNanoUsd({ promptTokens, completionTokens })
    return whole - resolved.pricing.worstCaseNanoUsd({ promptTokens, completionTokens: 0 })
  }
}
