import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Journaled } from './answer-journal.ts'
import { chargeOf, type Receipt, type UnchargedUsage, type Usage, type UsageLine, type UsageOutcome } from './hold.ts'
import type { MeteredRequest } from './metered-request.ts'

/** What a request is sold as: the part of its usage that is known before it runs. */
export type SoldAs = Pick<Usage, 'sku' | 'modelName' | 'modelType' | 'unitType'>

/** Which upstream responded, and how many failed before it. */
export interface RunUpstream {
  upstreamId: string
  retries: number
}

/** What a run is charged. */
export interface RunCharge {
  lines: UsageLine[]
  outcome: UsageOutcome
  estimated: boolean
  /** What the rate windows are corrected to. */
  used: { tokens?: number; credits?: number }
}

export interface MeteredRunParts<Response> {
  metered: MeteredRequest
  context: Journaled<Response>
  soldAs: SoldAs
  startedAtMs: number
  clock: Clock
  log: Log
}

/**
 * One admitted request of any product on its way to exactly one end: `settle` charges it, `release` does not. The first
 * end counts, so every exit path may end the run without asking who was first. A response in one piece ends before it is
 * sent, a stream at its end, a job whenever its work is done: the run holds nothing but its hold.
 */
export class MeteredRun<Response = unknown> {
  readonly metered: MeteredRequest
  readonly #parts: MeteredRunParts<Response>
  #upstream: RunUpstream | undefined

  constructor(parts: MeteredRunParts<Response>) {
    this.metered = parts.metered
    this.#parts = parts
  }

  /** As soon as an upstream responds, so that the usage names it whatever happens next. */
  servedBy({ upstreamId, retries }: RunUpstream): void {
    this.#upstream = { upstreamId, retries }
  }

  /** What settling these lines will charge: never more than the hold. */
  chargeOf(lines: UsageLine[]): Pick<Receipt, 'chargedNanoUsd' | 'currency'> {
    const { amountNanoUsd, currency } = this.metered.hold
    return { chargedNanoUsd: chargeOf({ lines }, amountNanoUsd), currency }
  }

  /**
   * Charges the lines; resolves when that is durable. A response that an idempotency key keeps is kept first. Fails with
   * `unavailable` or `hold_lost`; then nothing was charged, and the response must not be sent.
   */
  async settle({ lines, outcome, estimated, used }: RunCharge, response?: Response): Promise<Receipt> {
    const usage: Usage = { ...this.#usage(outcome), lines, estimated }
    if (response !== undefined) await this.#parts.context.journal?.answered(response, usage)
    return this.metered.settle(usage, used)
  }

  /** Charges nothing and frees the hold. Never fails: what could not be freed now, the sweeper frees. */
  async release(): Promise<void> {
    const { context, log } = this.#parts
    try {
      await this.metered.release(this.#unchargedUsage())
    } catch (error) {
      log.error('hold could not be released', { requestId: context.requestId, error })
    }
  }

  /** Releases the run after a failure; resolves with the error that its caller throws. */
  async fail(error: unknown): Promise<unknown> {
    await this.release()
    if (!this.#parts.context.signal.aborted) return error
    // Nobody reads this response, but what is logged of it should be true.
    return new DomainError('unavailable', 'The client closed the request before its response began', { cause: error })
  }

  /** Undefined for a response that an idempotency key may have kept: a repeat may still be charged for it under this id. */
  #unchargedUsage(): UnchargedUsage | undefined {
    const { context } = this.#parts
    if (context.journal !== undefined) return undefined
    return { ...this.#usage(context.signal.aborted ? 'client_disconnected' : 'upstream_failed'), estimated: false }
  }

  #usage(outcome: UsageOutcome): Omit<Usage, 'lines' | 'estimated'> {
    const { soldAs, startedAtMs, clock } = this.#parts
    const { upstreamId = null, retries = 0 } = this.#upstream ?? {}
    return { ...soldAs, outcome, upstreamId, retries, durationMs: clock.nowMs() - startedAtMs }
  }
}
