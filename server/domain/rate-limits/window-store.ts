/** One sliding window that a request consumes from. */
export interface WindowCharge {
  /** Identity of the window, for example `<accountId>:<modelId>:tokens`. */
  key: string
  limit: number
  windowSeconds: number
  /** How many equal slices the window is counted in; 61 for a minute keeps every 60 s span within the limit. */
  buckets: number
  /** What this request takes: 1 for a request, the estimate for tokens, the price for credits. */
  weight: number
}

export interface WindowState {
  limit: number
  remaining: number
  /** Instant from which the window is empty again if nothing more is consumed. */
  resetAtMs: number
}

export interface WindowDecision {
  admitted: boolean
  /** Index of the first window that refused, or null. */
  refusedBy: number | null
  /** For the refusing window: the earliest instant at which the same weight would be admitted. */
  retryAtMs: number | null
  /** One state per charge, in order, after the decision. */
  states: WindowState[]
}

/**
 * Counters of sliding windows. `consume` takes from all windows of one request or from none, in one store call.
 * Redis and the process itself keep them; both pass one contract test.
 */
export interface WindowStore {
  consume(charges: readonly WindowCharge[], nowMs: number): Promise<WindowDecision>
  /** Corrects what was consumed at `consumedAtMs` by `delta` (negative gives back); never below zero. */
  adjust(charges: readonly { charge: WindowCharge; delta: number }[], consumedAtMs: number): Promise<void>
  /** States without consuming, for `GET /api_keys/rate_limits`. */
  peek(charges: readonly WindowCharge[], nowMs: number): Promise<WindowState[]>
  close(): Promise<void>
}
