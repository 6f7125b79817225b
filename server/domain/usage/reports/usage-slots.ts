import { addDays, DAY_MS, utcDay } from '../../clock.ts'
import type { UsageTimeUnit } from './usage.ts'
import { daysOf, type UsageRange } from './usage-range.ts'
import { startOfDay, type Stretch, type ZoneCalendar } from './zone-calendar.ts'

const HOUR_MS = 3_600_000
const DAYS_OF_LONGEST_UNIT = 31

/** One hour, day, week or month of a zone. */
export interface UsageSlot {
  /** When it begins: for a week or month at the edge of the report this may be before the report. */
  startsAt: Date
  /** The zone's day at that instant. */
  day: string
}

export interface UsageSlots {
  slots: UsageSlot[]
  /** Where each slot's share of the report begins, and at last where the report ends; ascending. */
  boundsMs: number[]
}

/** Whether roll-ups of UTC days alone cannot answer. */
export function needsHours({ boundsMs }: UsageSlots): boolean {
  return boundsMs.some((atMs) => atMs % DAY_MS !== 0)
}

interface Boundary {
  atMs: number
  slot: UsageSlot
}

/** Cuts days of a time zone into slots; without a unit they are one. */
export function cutIntoSlots(range: UsageRange, unit: UsageTimeUnit | null, calendar: ZoneCalendar): UsageSlots {
  const stretches = calendar.stretches(addDays(range.from, -DAYS_OF_LONGEST_UNIT), addDays(range.to, 1))
  const endMs = startOfDay(addDays(range.to, 1), stretches)
  const boundaries = unit === 'hour' ? hours(range, endMs, stretches) : days(range, unit, stretches)
  // Days that a zone has skipped have no time.
  const kept = boundaries.filter(({ atMs }, index) => atMs < (boundaries[index + 1]?.atMs ?? endMs))
  return { slots: kept.map(({ slot }) => slot), boundsMs: [...kept.map(({ atMs }) => atMs), endMs] }
}

/** An hour begins at each full hour on the clock, and where the clock is changed. */
function hours({ from }: UsageRange, endMs: number, stretches: readonly Stretch[]): Boundary[] {
  const startMs = startOfDay(from, stretches)
  return stretches.flatMap(({ fromMs, toMs, offsetMs }) => {
    const found: Boundary[] = []
    let atMs = Math.max(fromMs, startMs)
    while (atMs < Math.min(toMs, endMs)) {
      found.push({ atMs, slot: { startsAt: new Date(atMs), day: utcDay(new Date(atMs + offsetMs)) } })
      atMs += HOUR_MS - ((atMs + offsetMs) % HOUR_MS)
    }
    return found
  })
}

function days(
  range: UsageRange,
  unit: Exclude<UsageTimeUnit, 'hour'> | null,
  stretches: readonly Stretch[],
): Boundary[] {
  const all = daysOf(range).map((day) => ({ day, first: unit === null ? range.from : firstDayOf(unit, day) }))
  return all
    .filter(({ first }, index) => first !== all[index - 1]?.first)
    .map(({ day, first }) => ({
      atMs: startOfDay(day, stretches),
      slot: { startsAt: new Date(startOfDay(first, stretches)), day: first },
    }))
}

function firstDayOf(unit: Exclude<UsageTimeUnit, 'hour'>, day: string): string {
  if (unit === 'day') return day
  if (unit === 'month') return `${day.slice(0, 7)}-01`
  // Weeks begin on Monday, as ISO 8601 has them.
  return addDays(day, -((new Date(day).getUTCDay() + 6) % 7))
}
