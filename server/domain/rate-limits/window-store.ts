/** One sliding window that a request consumes from. One request names each key at most once. */
export interface WindowCharge {
  /** Identity of the window, for example `<accountId>:<modelId>:tokens`; what stands before the first colon places it. */
  key: string
  limit: number
  windowSeconds: number
  /**
   * How many equal slices the window is counted in, one of them in progress: 61 for a minute. More are more exact for
   * bursts; none ever lets a span of the window exceed the limit.
   */
  buckets: number
  /** What this request takes: 1 for a request, the estimate for tokens, the price for credits. A whole number. */
  weight: number
}

export interface WindowState {
  limit: number
  remaining: number
  /**
   * From here on a request of this weight passes if nothing else comes: for a window that refused, the earliest such
   * instant; for every other, the instant at which the window is empty again.
   */
  resetAtMs: number
}

export interface WindowDecision {
  admitted: boolean
  /** Index of the window that refuses the longest, or null. */
  refusedBy: number | null
  /** For that window: the earliest instant at which the same weight would be admitted; null where it is above the limit itself. */
  retryAtMs: number | null
  /** Where the charges were booked: `nowMs`, or the newest instant the windows have seen where that is later. `adjust` takes it. */
  consumedAtMs: number
  /** One state per charge, in order, after the decision. */
  states: WindowState[]
}

/**
 * Counters of sliding windows. `consume` takes from all windows of one request or from none, in one store call.
 * Redis and the process itself keep them; both pass one contract test. A clock that falls back makes a window stand
 * still, never forget.
 */
export interface WindowStore {
  consume(charges: readonly WindowCharge[], nowMs: number): Promise<WindowDecision>
  /**
   * Corrects what was consumed at `consumedAtMs` by `delta` (negative gives back); never below zero, and without effect
   * once that instant has left the window. Takes the very charge objects that were consumed.
   */
  adjust(charges: readonly { charge: WindowCharge; delta: number }[], consumedAtMs: number): Promise<void>
  /** States without consuming, for `GET /api_keys/rate_limits`. */
  peek(charges: readonly WindowCharge[], nowMs: number): Promise<WindowState[]>
  close(): Promise<void>
}
