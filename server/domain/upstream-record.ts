const RECENT_CALLS = 100

/** Recent statistics of an upstream, as this process observed it. */
export interface UpstreamSummary {
  /** Number of calls in the statistics: the last ones, at most 100. */
  recentCalls: number
  recentFailures: number
  /** Time until the response headers, over successful calls; null if there are none. */
  latencyMsP50: number | null
  latencyMsP95: number | null
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
  /** A short description; never the upstream's own text. */
  lastFailure: string | null
}

/** Keeps the last calls to one upstream in a ring buffer, which costs only a few memory writes per call. */
export class UpstreamRecord {
  readonly #latenciesMs = new Float64Array(RECENT_CALLS)
  #calls = 0
  #lastSuccessMs: number | undefined
  #lastFailureMs: number | undefined
  #lastFailure: string | null = null

  succeeded(startedMs: number, endedMs: number): void {
    this.#latenciesMs[this.#calls % RECENT_CALLS] = Math.max(0, endedMs - startedMs)
    this.#calls += 1
    this.#lastSuccessMs = endedMs
  }

  failed(endedMs: number, failure: string): void {
    // Marks a failure, because no latency is negative.
    this.#latenciesMs[this.#calls % RECENT_CALLS] = -1
    this.#calls += 1
    this.#lastFailureMs = endedMs
    this.#lastFailure = failure
  }

  summary(): UpstreamSummary {
    const recent = this.#latenciesMs.slice(0, Math.min(this.#calls, RECENT_CALLS))
    const latencies = recent.filter((latencyMs) => latencyMs >= 0).toSorted()
    return {
      recentCalls: recent.length,
      recentFailures: recent.length - latencies.length,
      latencyMsP50: percentile(latencies, 0.5),
      latencyMsP95: percentile(latencies, 0.95),
      lastSuccessAt: toDate(this.#lastSuccessMs),
      lastFailureAt: toDate(this.#lastFailureMs),
      lastFailure: this.#lastFailure,
    }
  }
}

function percentile(sorted: Float64Array, part: number): number | null {
  return sorted[Math.ceil(sorted.length * part) - 1] ?? null
}

function toDate(instantMs: number | undefined): Date | null {
  return instantMs === undefined ? null : new Date(instantMs)
}
