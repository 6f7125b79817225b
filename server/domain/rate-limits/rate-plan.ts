import type { WindowBooking, WindowCharge, WindowState } from './window-store.ts'

/** Kind of limit applied, as `x-ratelimit-type` names it. */
export type RateLimitScope = 'user' | 'api_key' | 'global'

/** Windows of one API key, beside those of its account; null where the operator set no number. */
export type KeyWindows = Pick<RatePlan, 'tokens' | 'credits'> & { requests: WindowCharge | null }

/** The windows that one request must pass, all or none. */
export interface RatePlan {
  scope: RateLimitScope
  accountId: string
  apiKeyId: string | null
  /** Model id, or `endpoint:<path>`, as the limit log names it. */
  subject: string
  /** Tier name for the limit log: XS to L, or the account's tier. */
  tierName: string
  requests: WindowCharge
  tokens: WindowCharge | null
  credits: WindowCharge | null
  /** Absent where the operator set no limit on the key. */
  keyWindows?: KeyWindows
}

/**
 * What a plan consumed: kept until the request ends, to correct the tokens or to give everything back. Where both the
 * account and the key have a window, the state is that of the one with less left.
 */
export interface RateGrant {
  plan: RatePlan
  booking: WindowBooking
  requests: WindowState
  tokens: WindowState | null
  credits: WindowState | null
}

export interface RateLimiter {
  /** Consumes all windows of the plan in one store call. Fails with `rate_limited`, which carries the window's numbers. */
  admit(plan: RatePlan): Promise<RateGrant>
  /** Returns everything: the request was refused for another reason before it ran. */
  refund(grant: RateGrant): void
  /** Replaces the token (or credit) estimate by what was used. */
  correct(grant: RateGrant, used: { tokens?: number; credits?: number }): void
}
