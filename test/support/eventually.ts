import { vi } from 'vitest'

/** Far above what any machine takes: it only ends a wait that is in vain. */
const TIMEOUT_MS = 45_000
const INTERVAL_MS = 20

/** Resolves with what the assertion gives as soon as it holds; rejects with its last failure when it never does. */
export function eventually<Result>(assertion: () => Result | Promise<Result>): Promise<Result> {
  return vi.waitFor(assertion, { timeout: TIMEOUT_MS, interval: INTERVAL_MS })
}
