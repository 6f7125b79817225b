import type { HourMeasures } from './usage-hourly-table.ts'

/** Hours of closed days, summed up by grain from the hourly roll-up; also partitioned by month. */
export interface UsageHourlyTotalsTable extends HourMeasures {
  account_id: string
  /** By model, by key, or in total. */
  grain: 'model' | 'key' | 'total'
  hour: Date
  /** All zeros if the grain does not split by keys, and for usage without a key. */
  key_id: string
  /** Empty if the grain does not split by it. */
  sku: string
  unit_type: string
  currency: 'usd' | 'diem'
  model_type: string | null
}
