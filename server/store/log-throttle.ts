const LOG_INTERVAL_MS = 10_000

/** Lets one line through every 10 seconds; what recurs on every request must not fill the log. */
export class LogThrottle {
  #nextAtMs = 0

  mayLog(): boolean {
    // Monotonic, so that a clock that is set back does not silence the log.
    const nowMs = performance.now()
    if (nowMs < this.#nextAtMs) return false
    this.#nextAtMs = nowMs + LOG_INTERVAL_MS
    return true
  }
}
