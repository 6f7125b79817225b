export interface BreakerOutcome {
  /**
   * False for failures that show that the provider is down: connection, timeout, 5xx, rejected credentials, unreadable
   * response.
   */
  healthy: boolean
}

/** `half_open`: one probe call is in progress. */
export type CircuitState = 'closed' | 'open' | 'half_open'

/** Stops calling a provider after several consecutive failures, and allows a single probe after a pause. */
export interface CircuitBreaker {
  readonly state: CircuitState
  /**
   * Runs the call, or resolves to undefined without running it while the circuit is open. Errors that the call throws
   * pass through uncounted.
   */
  run<T extends BreakerOutcome>(call: () => Promise<T>): Promise<T | undefined>
}
