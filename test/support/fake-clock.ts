import type { Clock } from '../../server/domain/clock.ts'

export interface FakeClock extends Clock {
  advance(ms: number): void
  set(iso: string): void
}

/** A clock that stands still until a test moves it. */
export function createFakeClock(startIso = '2026-01-15T12:00:00.000Z'): FakeClock {
  let nowMs = Date.parse(startIso)
  return {
    now: () => new Date(nowMs),
    nowMs: () => nowMs,
    advance: (ms) => {
      nowMs += ms
    },
    set: (iso) => {
      nowMs = Date.parse(iso)
    },
  }
}
