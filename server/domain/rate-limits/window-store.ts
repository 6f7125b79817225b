/** One sliding window that a request consumes from. One request names each key at most once. */
export interface WindowCharge {
  /**
   * Identity of the window, for example `<accountId>:<modelId>:tokens`; the part before the first colon selects its
   * location.
   */
  key: string
  limit: number
  windowSeconds: number
  /**
   * Number of equal slices of the window, including the current one: 61 for a minute. More slices are more exact for
   * bursts; none ever lets a span of the window exceed the limit.
   */
  buckets: number
  /** Weight of this request: 1 for requests, the estimate for tokens, the price for credits. A whole number. */
  weight: number
  /** True if the database enforces the limit too, so a process without the shared store may admit all of it. */
  enforcedByDatabase?: true
}

export interface WindowState {
  limit: number
  remaining: number
  /**
   * When a request of this weight would pass if nothing else arrives: for the rejecting window, the earliest such time;
   * for any other, the time when the window is empty again.
   */
  resetAtMs: number
  /** The time of this state by the store's clock; only relative to it is `resetAtMs` meaningful. */
  nowMs: number
}

/** Where a request was booked, in a form that only the store understands. */
export interface WindowBooking {
  /** By the clock of the shared store; null if nothing was booked there. */
  sharedAtMs: number | null
  /** By the monotonic clock of this process; null if nothing was booked here. */
  localAtMs: number | null
}

export interface WindowDecision {
  admitted: boolean
  /** Index of the window that rejects the longest, or null. */
  refusedBy: number | null
  /**
   * For that window: the earliest time at which the same weight would be admitted; null if it exceeds the limit itself.
   */
  retryAtMs: number | null
  booking: WindowBooking
  /** One state per charge, in order, after the decision. */
  states: WindowState[]
}

/**
 * Counters of sliding windows. `consume` takes from all windows of a request or from none, in one store call. Implemented
 * in Redis and in process, each with its own clock; both pass one contract test.
 */
export interface WindowStore {
  consume(charges: readonly WindowCharge[]): Promise<WindowDecision>
  /**
   * Changes the consumption of `booking` by `delta` (negative to refund); never below zero, and without effect once the
   * booking has left the window.
   */
  adjust(charges: readonly { charge: WindowCharge; delta: number }[], booking: WindowBooking): Promise<void>
  /** States without consuming, for `GET /api_keys/rate_limits`. */
  peek(charges: readonly WindowCharge[]): Promise<WindowState[]>
  close(): Promise<void>
}

export interface HeldWindow extends Pick<WindowCharge, 'key' | 'windowSeconds' | 'buckets'> {
  /** Oldest first. */
  bookings: { ageMs: number; weight: number }[]
}

/** Windows of all processes in a store that can lose data. A call fails soon after the store stops responding. */
export interface SharedWindowStore extends WindowStore {
  /** Fails while the store is unavailable. False if the store has lost everything booked before the previous probe. */
  probe(): Promise<boolean>
  /** Adds the requests that this process admitted on its own. */
  carry(windows: Iterable<HeldWindow>): Promise<void>
}
