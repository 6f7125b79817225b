import { BrokenCircuitError, CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhenResult } from 'cockatiel'
import type {
  BreakerOutcome,
  CircuitBreaker,
  CircuitState as DomainState,
} from '../../domain/inference/providers/circuit-breaker.ts'

const CONSECUTIVE_FAILURES = 5
const PROBE_AFTER_MS = 10_000

const STATES: Readonly<Record<CircuitState, DomainState>> = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half_open',
  // No code isolates it manually.
  [CircuitState.Isolated]: 'open',
}

/** Opens after five failures in a row; after ten seconds one call passes as a probe, and its result decides. */
export function createCircuitBreaker(): CircuitBreaker {
  const failures = handleWhenResult((result) => !(result as BreakerOutcome).healthy)
  const policy = circuitBreaker(failures, {
    halfOpenAfter: PROBE_AFTER_MS,
    breaker: new ConsecutiveBreaker(CONSECUTIVE_FAILURES),
  })
  return {
    get state() {
      return STATES[policy.state]
    },
    async run(call) {
      // While a probe is in progress the policy would make others wait for it; a model may take minutes, so they skip
      // this provider.
      if (policy.state === CircuitState.HalfOpen) return undefined
      try {
        return await policy.execute(call)
      } catch (error) {
        if (error instanceof BrokenCircuitError) return undefined
        throw error
      }
    },
  }
}
