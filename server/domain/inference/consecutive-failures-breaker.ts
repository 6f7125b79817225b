import type { Clock } from '../clock.ts'
import type { BreakerOutcome, CircuitBreaker, CircuitState } from './circuit-breaker.ts'

const CONSECUTIVE_FAILURES = 5
const PROBE_AFTER_MS = 10_000

/** Opens after five failures in a row; after ten seconds one call is let through as a probe, and its result decides. */
export class ConsecutiveFailuresBreaker implements CircuitBreaker {
  readonly #clock: Clock
  #failures = 0
  #openedAtMs: number | null = null
  #probing = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get state(): CircuitState {
    if (this.#openedAtMs === null) return 'closed'
    return this.#probing ? 'half_open' : 'open'
  }

  async run<T extends BreakerOutcome>(call: () => Promise<T>): Promise<T | undefined> {
    if (this.#openedAtMs !== null) return this.#mayProbe(this.#openedAtMs) ? this.#probe(call) : undefined
    const outcome = await call()
    this.#failures = outcome.healthy ? 0 : this.#failures + 1
    if (this.#failures >= CONSECUTIVE_FAILURES) this.#openedAtMs ??= this.#clock.nowMs()
    return outcome
  }

  /** While a probe is under way others pass by: a model may take minutes. A clock that was set back must not delay it. */
  #mayProbe(openedAtMs: number): boolean {
    const elapsedMs = this.#clock.nowMs() - openedAtMs
    return !this.#probing && (elapsedMs < 0 || elapsedMs >= PROBE_AFTER_MS)
  }

  async #probe<T extends BreakerOutcome>(call: () => Promise<T>): Promise<T> {
    this.#probing = true
    try {
      const outcome = await call()
      this.#failures = 0
      this.#openedAtMs = outcome.healthy ? null : this.#clock.nowMs()
      return outcome
    } finally {
      this.#probing = false
    }
  }
}
