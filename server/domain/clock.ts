/** The only source of time. Tests inject a clock that they advance by hand. */
export interface Clock {
  now(): Date
  nowMs(): number
  /** Milliseconds since an arbitrary start. This clock is never adjusted, so only it measures elapsed time. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  now: () => new Date(),
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}

export const DAY_MS = 86_400_000
const SECOND_MS = 1_000

/** The UTC calendar day of a time, `YYYY-MM-DD`. */
export const utcDay = rememberingLast(DAY_MS, (instant) => instant.toISOString().slice(0, 10))

const utcSecond = rememberingLast(SECOND_MS, (instant) => instant.toISOString().slice(0, 20))

/** A time in ISO 8601 format, in UTC with milliseconds. */
export function utcInstant(instant: Date): string {
  const second = utcSecond(instant)
  return `${second}${String(instant.getUTCMilliseconds()).padStart(3, '0')}Z`
}

/** Formatting a date is slow, and consecutive requests share the same day and second. */
function rememberingLast(spanMs: number, write: (instant: Date) => string): (instant: Date) => string {
  let lastSpan = Number.NaN
  let lastText = ''
  return (instant) => {
    const span = Math.floor(instant.getTime() / spanMs)
    if (span === lastSpan) return lastText
    lastText = write(instant)
    lastSpan = span
    return lastText
  }
}

export function addDays(day: string, count: number): string {
  return utcDay(new Date(Date.parse(day) + count * DAY_MS))
}

export function utcMidnight(instant: Date): Date {
  return new Date(Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth(), instant.getUTCDate()))
}

/** Midnight UTC at the end of the day of `instant`. */
export function nextUtcMidnight(instant: Date): Date {
  return new Date(utcMidnight(instant).getTime() + DAY_MS)
}
