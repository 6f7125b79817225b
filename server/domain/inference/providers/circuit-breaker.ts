/** How one call to a provider went, as its circuit breaker counts it. */
export interface BreakerOutcome {
  /** False for failures that say the provider is down: connection, timeout, 5xx, refused credentials, garbage. */
  healthy: boolean
}

/** `half_open`: one call is under way as a probe. */
export type CircuitState = 'closed' | 'open' | 'half_open'

/** Stops calling a provider that failed several times in a row, and lets a single probe through after a pause. */
export interface CircuitBreaker {
  readonly state: CircuitState
  /** Runs the call, or resolves to undefined without running it while the circuit is open. What the call throws passes through uncounted. */
  run<T extends BreakerOutcome>(call: () => Promise<T>): Promise<T | undefined>
}
