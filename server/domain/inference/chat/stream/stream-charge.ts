import type { Receipt, UsageOutcome } from '../../../metering/hold.ts'
import type { MeteredRun } from '../../../metering/metered-run.ts'
import type { ChatPlan } from '../plan/chat-plan.ts'
import { estimateUsage, type MeasuredChatUsage, measureUsage, toCharge } from '../usage/chat-usage.ts'

export interface StreamChargeParts {
  plan: ChatPlan
  run: MeteredRun
}

export interface StreamCharged {
  usage: MeasuredChatUsage
  receipt: Receipt
}

/** Ends the run of one stream exactly once, by a charge or a release. */
export class StreamCharge {
  readonly #parts: StreamChargeParts
  readonly #countCompletion: () => Promise<number>
  #begun = false

  constructor(parts: StreamChargeParts, countCompletion: () => Promise<number>) {
    this.#parts = parts
    this.#countCompletion = countCompletion
  }

  get begun(): boolean {
    return this.#begun
  }

  /** Charges a complete response, by the provider's usage if it is plausible. */
  async whole(reported: unknown): Promise<StreamCharged> {
    this.#begun = true
    return this.#settle(await this.#measure(reported), 'completed')
  }

  async part(outcome: UsageOutcome, reported?: unknown): Promise<StreamCharged> {
    this.#begun = true
    const usage =
      reported === undefined
        ? estimateUsage(this.#parts.plan, await this.#countCompletion())
        : await this.#measure(reported)
    return this.#settle(usage, outcome)
  }

  async release(): Promise<void> {
    if (this.#begun) return
    this.#begun = true
    await this.#parts.run.release()
  }

  #measure(reported: unknown): Promise<MeasuredChatUsage> {
    const { plan, run } = this.#parts
    return measureUsage({ plan, metered: run.metered, reported, countCompletion: this.#countCompletion })
  }

  async #settle(usage: MeasuredChatUsage, outcome: UsageOutcome): Promise<StreamCharged> {
    return { usage, receipt: await this.#parts.run.settle(toCharge(usage, outcome)) }
  }
}
