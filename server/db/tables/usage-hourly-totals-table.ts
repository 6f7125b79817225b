import type { HourMeasures } from './usage-hourly-table.ts'

/** Hours of closed days, summed up by grain from the hourly roll-up; partitioned by month, as that is. */
export interface UsageHourlyTotalsTable extends HourMeasures {
  account_id: string
  /** By what was called, by who called, or not at all. */
  grain: 'model' | 'key' | 'total'
  hour: Date
  /** All zeros where the grain does not split by keys, and for usage without a key. */
  key_id: string
  /** Empty where the grain does not split by it. */
  sku: string
  unit_type: string
  currency: 'usd' | 'diem'
  model_type: string | null
}
