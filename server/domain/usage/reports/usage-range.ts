import { addDays, DAY_MS } from '../../clock.ts'
import { invalidField } from '../../validation/parse-input.ts'

export const USAGE_DAYS_MAX = 90
export const USAGE_DAYS_DEFAULT = 7

/** Days as `YYYY-MM-DD`, both inclusive. */
export interface UsageRange {
  from: string
  to: string
}

interface RequestedRange {
  from?: string | null | undefined
  to?: string | null | undefined
}

/** Default names of the two fields in error messages. */
const FIELDS = { from: 'from', to: 'to' }

/**
 * The days of a report: both given, or neither for the last 7. `today` is in the report's time zone. Fails with
 * `invalid_request` that names the field.
 */
export function toUsageRange({ from, to }: RequestedRange, today: string, fields = FIELDS): UsageRange {
  if (from == null && to == null) return lastDays(USAGE_DAYS_DEFAULT, today)
  if (from == null) throw invalidField(fields.from, 'is missing: send both days or neither')
  if (to == null) throw invalidField(fields.to, 'is missing: send both days or neither')
  if (to < from) throw invalidField(fields.to, `is ${to}, but must not be before ${fields.from}, which is ${from}`)
  if (from > today) throw invalidField(fields.from, `is ${from}, but must not be after today, which is ${today}`)
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days <= USAGE_DAYS_MAX) return { from, to }
  throw invalidField(fields.to, `is ${to}, which makes ${days} days; the maximum is ${USAGE_DAYS_MAX}`)
}

export function lastDays(count: number, today: string): UsageRange {
  return { from: addDays(today, 1 - count), to: today }
}

export function daysOf({ from, to }: UsageRange): string[] {
  const days: string[] = []
  for (let day = from; day <= to; day = addDays(day, 1)) days.push(day)
  return days
}
