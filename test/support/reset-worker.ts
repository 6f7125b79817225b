import { afterAll, vi } from 'vitest'

// A test that failed half-way must not leave its timers and spies to the next file of the worker.
afterAll(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})
