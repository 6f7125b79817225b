import type { RequestContext } from '../caller.ts'
import type { RateGrant, RatePlan } from '../rate-limits/rate-plan.ts'
import type { Hold, Receipt, UnchargedUsage, Usage } from './hold.ts'
import type { ExtendOutcome } from './money-item.ts'

export interface AdmissionRequest {
  context: RequestContext
  plan: RatePlan
  /** Worst-case price of the request. */
  holdNanoUsd: bigint
}

/**
 * A request that was admitted: its hold is durable and its rate windows are consumed. It ends with exactly one
 * `settle` or `release`; a second call is ignored, so that every exit path may end it without asking who was first.
 */
export interface MeteredRequest {
  readonly hold: Hold
  readonly grant: RateGrant
  /** Null until the charge is durable. */
  readonly receipt: Receipt | null
  /** Grows the hold, or returns why it cannot grow. */
  extend(byNanoUsd: bigint): Promise<ExtendOutcome>
  /** Charges the sum of the lines (never more than the hold), frees the rest and writes the usage; resolves when durable. */
  settle(usage: Usage, used?: { tokens?: number; credits?: number }): Promise<Receipt>
  /**
   * Charges nothing and frees the hold; resolves when durable. Upstream failures end here, with `usage` for the request
   * log. Without it for an answer that is kept under an idempotency key: a repeat may still charge it under this id.
   */
  release(usage?: UnchargedUsage): Promise<void>
}

export interface Metering {
  /** Fails with `rate_limited`, `insufficient_balance`, `key_limit_usd`, `key_limit_diem` or `unauthenticated`; then nothing is held or consumed. */
  open(request: AdmissionRequest): Promise<MeteredRequest>
}

/** The charge of an answer whose process died before it could settle: what that process had admitted and measured. */
export interface LateCharge {
  /** Of the request that makes up for it; it pays under the id and on the day of the original. */
  context: RequestContext
  requestId: string
  admittedAt: Date
  usage: Usage
  /** The original hold: no charge exceeds it. */
  maxNanoUsd: bigint
  grant: RateGrant
}

export interface LateMetering {
  /**
   * Charges under the original's id and day. Where the original did settle after all, the database releases this hold and
   * charges nothing. Fails as `Metering.open` and `settle` do.
   */
  settleLate(charge: LateCharge): Promise<void>
}
