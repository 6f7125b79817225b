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
  /** True if the database enforces the limit too, so a process without the shared store may admit all of it. */
  enforcedByDatabase?: true
}

export interface WindowState {
  limit: number
  remaining: number
  /**
   * From here on a request of this weight passes if nothing else comes: for a window that refused, the earliest such
   * instant; for every other, the instant at which the window is empty again.
   */
  resetAtMs: number
  /** The instant of this state by the store's clock, which alone says how far away `resetAtMs` is. */
  nowMs: number
}

/** Where a request was booked, as only the store that booked it can read it. */
export interface WindowBooking {
  /** By the clock of the shared store; null if nothing was booked there. */
  sharedAtMs: number | null
  /** By the monotonic clock of this process; null if nothing was booked here. */
  localAtMs: number | null
}

export interface WindowDecision {
  admitted: boolean
  /** Index of the window that refuses the longest, or null. */
  refusedBy: number | null
  /** For that window: the earliest instant at which the same weight would be admitted; null where it is above the limit itself. */
  retryAtMs: number | null
  /** For `adjust`. */
  booking: WindowBooking
  /** One state per charge, in order, after the decision. */
  states: WindowState[]
}

/**
 * Counters of sliding windows. `consume` takes from all windows of one request or from none, in one store call.
 * Redis and the process itself keep them, each by a clock of its own; both pass one contract test.
 */
export interface WindowStore {
  consume(charges: readonly WindowCharge[]): Promise<WindowDecision>
  /**
   * Corrects what was consumed as `booking` by `delta` (negative gives back); never below zero, and without effect once
   * the booking has left the window.
   */
  adjust(charges: readonly { charge: WindowCharge; delta: number }[], booking: WindowBooking): Promise<void>
  /** States without consuming, for `GET /api_keys/rate_limits`. */
  peek(charges: readonly WindowCharge[]): Promise<WindowState[]>
  close(): Promise<void>
}

/** What one window holds at the moment. */
export interface HeldWindow extends Pick<WindowCharge, 'key' | 'windowSeconds' | 'buckets'> {
  /** Oldest first. */
  bookings: { ageMs: number; weight: number }[]
}

/** Windows of all processes in a store that can be lost. A call fails soon after the store stops responding. */
export interface SharedWindowStore extends WindowStore {
  /** Fails while the store is lost. False: the store has lost what was booked before the previous probe. */
  probe(): Promise<boolean>
  /** Adds what this process admitted by itself. */
  carry(windows: Iterable<HeldWindow>): Promise<void>
}
