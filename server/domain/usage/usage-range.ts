import { type Clock, utcDay } from '../clock.ts'
import { invalidField } from '../validation.ts'

const USAGE_DAYS_MAX = 90
const USAGE_DAYS_DEFAULT = 7
const DAY_MS = 86_400_000

/** UTC days, `YYYY-MM-DD`, both included. */
export interface UsageRange {
  from: string
  to: string
}

interface RequestedRange {
  from?: string | null | undefined
  to?: string | null | undefined
}

/** The days of a report: both as asked, or neither for the last 7. Fails with `invalid_request` that names `from` or `to`. */
export function toUsageRange({ from, to }: RequestedRange, clock: Clock): UsageRange {
  const today = utcDay(clock.now())
  if (from == null && to == null) return { from: addDays(today, 1 - USAGE_DAYS_DEFAULT), to: today }
  if (from == null) throw invalidField('from', 'is missing: send both days or neither')
  if (to == null) throw invalidField('to', 'is missing: send both days or neither')
  if (to < from) throw invalidField('to', `must not be before from (${from})`)
  if (from > today) throw invalidField('from', `must not be after today, which is ${today} in UTC`)
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days <= USAGE_DAYS_MAX) return { from, to }
  throw invalidField('to', `makes ${days} days; at most ${USAGE_DAYS_MAX} are reported at once`)
}

function addDays(day: string, count: number): string {
  return utcDay(new Date(Date.parse(day) + count * DAY_MS))
}
