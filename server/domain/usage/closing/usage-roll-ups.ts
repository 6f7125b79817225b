import { addDays, DAY_MS } from '../../clock.ts'
import type { UsageFilter } from '../reports/inputs.ts'
import type { UsageDimension } from '../reports/usage.ts'

/**
 * How sums of closed days are split, besides unit type and currency: by everything, by model with or without line types,
 * by key, or not at all.
 */
export type UsageGrain = 'all' | 'line' | 'model' | 'key' | 'total'

const DETAIL_OF: Partial<Record<UsageDimension, 'key' | 'model' | 'line'>> = {
  sku: 'model',
  network: 'model',
  model_type: 'model',
  method: 'line',
  api_key: 'key',
}

export function grainOf(dimensions: readonly UsageDimension[], filter: UsageFilter): UsageGrain {
  const asked = new Set(dimensions.map((dimension) => DETAIL_OF[dimension]))
  const key = asked.has('key') || filter.apiKeyIds != null
  const model = asked.has('model') || filter.skus != null || filter.networks != null || filter.modelTypes != null
  const line = asked.has('line') || filter.methods != null
  if (key) return model || line ? 'all' : 'key'
  if (line) return 'line'
  return model ? 'model' : 'total'
}

/** Days summed up in one row per cell: four weeks, a week, a day. Long spans begin on Mondays. */
export const SPANS = [28, 7, 1] as const
export type SpanDays = (typeof SPANS)[number]

/** The Monday from which spans of all lengths are counted. */
export const FIRST_MONDAY = '1970-01-05'
const FIRST_MONDAY_MS = Date.parse(FIRST_MONDAY)

export interface UsageSpan {
  days: SpanDays
  starts: string
}

/** The fewest spans that cover the days between ascending bounds; no span crosses a bound. */
export function spansBetween(bounds: readonly string[]): UsageSpan[] {
  return bounds.slice(1).flatMap((until, index) => {
    const spans: UsageSpan[] = []
    let day = bounds[index] ?? until
    while (day < until) {
      const span = longestSpan(day, until)
      spans.push(span)
      day = addDays(day, span.days)
    }
    return spans
  })
}

function longestSpan(starts: string, until: string): UsageSpan {
  const sinceMonday = (Date.parse(starts) - FIRST_MONDAY_MS) / DAY_MS
  const days = SPANS.find((length) => sinceMonday % length === 0 && addDays(starts, length) <= until) ?? 1
  return { days, starts }
}
