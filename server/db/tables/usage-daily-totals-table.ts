/** Closed UTC days of an account, summed up by grain from the daily roll-up; see `usage_closings`. */
export interface UsageDailyTotalsTable {
  account_id: string
  /** By everything (not single days), by what was called with and without the kinds of lines, by who called, or not at all. */
  grain: 'all' | 'line' | 'model' | 'key' | 'total'
  /** A day, a week, or four weeks, which begin on Mondays. */
  days: 1 | 7 | 28
  starts: string
  /** All zeros where the grain does not split by keys, and for usage without a key. */
  key_id: string
  /** Empty where the grain does not split by it, as are the other columns of what was called. */
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
