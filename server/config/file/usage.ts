import { z } from 'zod'

/** More than the longest report, so every report finds its hours in any time zone. */
const HOURLY_DAYS_MIN = 100
const EVENT_DAYS_MIN = 7
const DAYS_MAX = 36_500
const DAYS_DEFAULT = 400

/** How long usage is kept in detail. Daily totals are kept forever, and the ledger is never shortened. */
export const UsageSection = z
  .strictObject({
    eventRetentionDays: z
      .int()
      .min(EVENT_DAYS_MIN)
      .max(DAYS_MAX)
      .default(DAYS_DEFAULT)
      .describe('Days for which single requests and the lines of their charges are kept'),
    hourlyRetentionDays: z
      .int()
      .min(HOURLY_DAYS_MIN)
      .max(DAYS_MAX)
      .default(DAYS_DEFAULT)
      .describe('Days for which usage can be grouped by hours and by days of time zones other than UTC'),
  })
  .prefault({})
