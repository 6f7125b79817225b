import { z } from 'zod'
import { USAGE_MODEL_TYPES, USAGE_UNIT_TYPES } from '../../metering/hold.ts'
import { anyOf, FilterName } from '../../validation/filters.ts'
import { isUuid } from '../../validation/uuid.ts'
import { USAGE_DIMENSIONS, USAGE_ORDERS, USAGE_TIME_UNITS, type UsageDimension, type UsageTimeUnit } from './usage.ts'
import { USAGE_DAYS_DEFAULT, USAGE_DAYS_MAX } from './usage-range.ts'
import { isTimeZone } from './zone-calendar.ts'

/** Usage cannot be older than the service, and databases have no year zero. */
const DAY_MIN = '2000-01-01'

const DAY_FORM = { error: 'must be a calendar day in the form YYYY-MM-DD', abort: true }

/** `YYYY-MM-DD`. */
const Day = z.iso.date(DAY_FORM).refine((day) => day >= DAY_MIN, { error: `must not be before ${DAY_MIN}` })

export const isTimeUnit = (dimension: UsageDimension): dimension is UsageTimeUnit =>
  USAGE_TIME_UNITS.some((unit) => unit === dimension)

/** The filter and split of a usage report. The default days are the last 7 of the zone, including today. */
export const UsageQuery = z.strictObject({
  from: Day.nullish(),
  to: Day.nullish(),
  timeZone: z
    .string()
    .refine(isTimeZone, { error: 'must be the IANA name of a time zone, such as Europe/Berlin' })
    .default('UTC'),
  groupBy: z
    .array(z.enum(USAGE_DIMENSIONS))
    .max(USAGE_DIMENSIONS.length)
    .refine((dimensions) => new Set(dimensions.filter(isTimeUnit)).size <= 1, {
      error: `must contain at most one unit of time: ${USAGE_TIME_UNITS.join(', ').toUpperCase()}`,
    })
    .default([]),
  orderBy: z.enum(USAGE_ORDERS).default('amount'),
  filter: z
    .strictObject({
      skus: anyOf(FilterName),
      networks: anyOf(FilterName),
      methods: anyOf(FilterName),
      apiKeyIds: anyOf(z.string().refine(isUuid, { error: 'must be an `apiKeyId`' })),
      currencies: anyOf(z.enum(['usd', 'diem'])),
      unitTypes: anyOf(z.enum(USAGE_UNIT_TYPES)),
      modelTypes: anyOf(z.enum(USAGE_MODEL_TYPES)),
    })
    .nullish(),
})
export type UsageQuery = z.output<typeof UsageQuery>
export type UsageFilter = NonNullable<UsageQuery['filter']>

const LOOKBACK = /^[1-9]\d*d$/

/** The period of a report: a range of UTC days, or the last days including today. */
export const UsageAnalyticsQuery = z.object({
  lookback: z
    .string()
    .regex(LOOKBACK, { error: 'must be a number of days, at least 1, and the letter d, such as 7d', abort: true })
    .transform((text) => Number.parseInt(text, 10))
    .refine((days) => days <= USAGE_DAYS_MAX, { error: `must be at most ${USAGE_DAYS_MAX}d` })
    .nullish()
    .transform((days) => days ?? USAGE_DAYS_DEFAULT),
  startDate: Day.nullish(),
  endDate: Day.nullish(),
})
export type UsageAnalyticsQuery = z.output<typeof UsageAnalyticsQuery>
