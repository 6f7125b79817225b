import type { WindowBooking, WindowCharge, WindowState } from './window-store.ts'

/** Kind of limit applied, as `x-ratelimit-type` names it. */
export type RateLimitScope = 'user' | 'api_key' | 'global'

/** Windows of one API key, in addition to its account's; null if the operator set no limit. */
export type KeyWindows = Pick<RatePlan, 'tokens' | 'credits'> & { requests: WindowCharge | null }

export interface RatePlan {
  scope: RateLimitScope
  accountId: string
  apiKeyId: string | null
  /** Model id, or `endpoint:<path>`, as in the limit log. */
  subject: string
  /** Tier name for the limit log: XS to L, or the account's tier. */
  tierName: string
  requests: WindowCharge
  tokens: WindowCharge | null
  credits: WindowCharge | null
  /** Absent if the operator set no limit on the key. */
  keyWindows?: KeyWindows
}

/**
 * The consumption of a plan, kept until the request ends to reconcile its tokens or refund all of it. If both the account
 * and the key have a window, the state is that of the one with less remaining.
 */
export interface RateGrant {
  plan: RatePlan
  booking: WindowBooking
  requests: WindowState
  tokens: WindowState | null
  credits: WindowState | null
}

export interface RateLimiter {
  /** Consumes all windows of the plan in one store call. Fails with `rate_limited`, which carries the window's state. */
  admit(plan: RatePlan): Promise<RateGrant>
  /** Refunds everything, because the request was rejected for another reason before it ran. */
  refund(grant: RateGrant): void
  /** Replaces the estimated tokens or credits by the actual ones. */
  correct(grant: RateGrant, used: { tokens?: number; credits?: number }): void
}
