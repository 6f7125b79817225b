/**
 * Seconds of a `Retry-After` header. A date is measured against the response's own `Date`, so clocks need not agree.
 */
export function parseRetryAfterSeconds(value: string | undefined, date: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (value.trim() !== '' && Number.isFinite(seconds)) return seconds >= 0 ? seconds : undefined
  const milliseconds = Date.parse(value) - Date.parse(date ?? '')
  return milliseconds >= 0 ? Math.ceil(milliseconds / 1_000) : undefined
}
