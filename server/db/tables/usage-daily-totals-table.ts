/** Closed UTC days of an account, summed up by grain from the daily roll-up; see `usage_closings`. */
export interface UsageDailyTotalsTable {
  account_id: string
  /** By everything (not for single days), by model with and without line types, by key, or in total. */
  grain: 'all' | 'line' | 'model' | 'key' | 'total'
  /** A day, a week or four weeks; weeks begin on Mondays. */
  days: 1 | 7 | 28
  starts: string
  /** All zeros if the grain does not split by keys, and for usage without a key. */
  key_id: string
  /** Empty if the grain does not split by it, like the other columns that describe the product. */
  sku: string
  line_type: string
  unit_type: string
  currency: 'usd' | 'diem'
  model_name: string
  model_type: string | null
  requests: bigint
  line_requests: bigint
  /** numeric: decimal text. */
  units: string
  amount_nano: bigint
}
