const LOG_INTERVAL_MS = 10_000

/** Lets one line through every 10 seconds, so an event that recurs on every request cannot fill the log. */
export class LogThrottle {
  #nextAtMs = 0

  mayLog(): boolean {
    // Monotonic, so setting the clock back does not silence the log.
    const nowMs = performance.now()
    if (nowMs < this.#nextAtMs) return false
    this.#nextAtMs = nowMs + LOG_INTERVAL_MS
    return true
  }
}
