import { DAY_MS, utcDay } from '../../clock.ts'

const MINUTE_MS = 60_000
/** Since 1972, clocks everywhere have changed at multiples of this, and by multiples of it. */
const STEP_MS = 15 * MINUTE_MS
const OFFSET = /^GMT(?:([+-])(\d{2}):(\d{2}))?$/
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/

/** A period without clock changes: local time is UTC plus the offset. */
export interface Stretch {
  fromMs: number
  toMs: number
  offsetMs: number
}

/**
 * Whether it is an IANA time zone name, such as `Europe/Berlin`. Bare offsets are rejected: they have no daylight saving
 * time.
 */
export function isTimeZone(name: string): boolean {
  if (!NAME.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/**
 * Converts days of a time zone to UTC times; the day that daylight saving time begins has 23 hours, the day it ends 25.
 */
export class ZoneCalendar {
  readonly #format: Intl.DateTimeFormat

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  }

  dayOf(instant: Date): string {
    return utcDay(new Date(instant.getTime() + this.#offsetMs(instant.getTime())))
  }

  /** Every stretch between two UTC days, ascending and without gaps; extended by a day at both ends. */
  stretches(fromDay: string, toDay: string): Stretch[] {
    const endMs = Date.parse(toDay) + 2 * DAY_MS
    const found: Stretch[] = []
    let fromMs = Date.parse(fromDay) - DAY_MS
    let offsetMs = this.#offsetMs(fromMs)
    for (let atMs = fromMs; atMs < endMs; atMs += DAY_MS) {
      const nextOffsetMs = this.#offsetMs(atMs + DAY_MS)
      if (nextOffsetMs === offsetMs) continue
      const changeMs = this.#changeBetween(atMs, atMs + DAY_MS)
      found.push({ fromMs, toMs: changeMs, offsetMs })
      fromMs = changeMs
      offsetMs = nextOffsetMs
    }
    return [...found, { fromMs, toMs: endMs, offsetMs }]
  }

  #changeBetween(earlierMs: number, laterMs: number): number {
    const before = this.#offsetMs(earlierMs)
    let [lowMs, highMs] = [earlierMs, laterMs]
    while (highMs - lowMs > STEP_MS) {
      const middleMs = lowMs + Math.ceil((highMs - lowMs) / 2 / STEP_MS) * STEP_MS
      if (this.#offsetMs(middleMs) === before) lowMs = middleMs
      else highMs = middleMs
    }
    return highMs
  }

  #offsetMs(instantMs: number): number {
    const text = this.#format.formatToParts(instantMs).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours = '0', minutes = '0'] = OFFSET.exec(text) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS
  }
}

/** The start of a day: midnight, or the first local time after it if clocks skip midnight. */
export function startOfDay(day: string, stretches: readonly Stretch[]): number {
  for (const { fromMs, toMs, offsetMs } of stretches) {
    const atMs = Math.max(fromMs, Date.parse(day) - offsetMs)
    if (atMs < toMs) return atMs
  }
  throw new RangeError(`${day} is outside the calendar`)
}
