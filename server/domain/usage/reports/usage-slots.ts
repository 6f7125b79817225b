import { addDays, DAY_MS, utcDay } from '../../clock.ts'
import type { UsageTimeUnit } from './usage.ts'
import { daysOf, type UsageRange } from './usage-range.ts'
import { type Stretch, startOfDay, type ZoneCalendar } from './zone-calendar.ts'

const HOUR_MS = 3_600_000
const DAYS_OF_LONGEST_UNIT = 31

export interface UsageSlot {
  /** Start time; a week or month at the edge of the report may start before the report. */
  startsAt: Date
  /** The day of the start in the time zone. */
  day: string
}

export interface UsageSlots {
  slots: UsageSlot[]
  /** Start of each slot's part of the report, and finally the report's end; ascending. */
  boundsMs: number[]
}

/** Whether UTC-day roll-ups are not enough. */
export function needsHours({ boundsMs }: UsageSlots): boolean {
  return boundsMs.some((atMs) => atMs % DAY_MS !== 0)
}

interface Boundary {
  atMs: number
  slot: UsageSlot
}

/** Splits days of a time zone into slots; without a unit there is one slot. */
export function cutIntoSlots(range: UsageRange, unit: UsageTimeUnit | null, calendar: ZoneCalendar): UsageSlots {
  const stretches = calendar.stretches(addDays(range.from, -DAYS_OF_LONGEST_UNIT), addDays(range.to, 1))
  const endMs = startOfDay(addDays(range.to, 1), stretches)
  const boundaries = unit === 'hour' ? hours(range, endMs, stretches) : days(range, unit, stretches)
  // Days that the zone skipped have no duration.
  const kept = boundaries.filter(({ atMs }, index) => atMs < (boundaries[index + 1]?.atMs ?? endMs))
  return { slots: kept.map(({ slot }) => slot), boundsMs: [...kept.map(({ atMs }) => atMs), endMs] }
}

/** An hour begins at each full hour of local time, and when the clocks change. */
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
