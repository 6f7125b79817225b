const RECENT_CALLS = 100

/** How an upstream has done of late, as this process saw it. */
export interface UpstreamSummary {
  /** Calls that the figures below are about: the last ones, at most 100. */
  recentCalls: number
  recentFailures: number
  /** From the call to the response head, over the calls that succeeded; null when none did. */
  latencyMsP50: number | null
  latencyMsP95: number | null
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
  /** In a few words; never what the upstream said. */
  lastFailure: string | null
}

/** Keeps the last calls to one upstream in a ring: a call costs a few stores into memory, which requests can bear. */
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
    // No latency is negative, so this marks a failure.
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
