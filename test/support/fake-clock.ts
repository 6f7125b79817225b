import type { Clock } from '../../server/domain/clock.ts'

export interface FakeClock extends Clock {
  advance(ms: number): void
  set(iso: string): void
}

/** A clock that stands still until a test moves it. */
export function createFakeClock(startIso = '2026-01-15T12:00:00.000Z'): FakeClock {
  let nowMs = Date.parse(startIso)
  let monotonicMs = 0
  const move = (ms: number): void => {
    nowMs += ms
    // Whoever sets a clock back does not undo the time that has passed.
    monotonicMs += Math.max(0, ms)
  }
  return {
    now: () => new Date(nowMs),
    nowMs: () => nowMs,
    monotonicMs: () => monotonicMs,
    advance: move,
    set: (iso) => move(Date.parse(iso) - nowMs),
  }
}
