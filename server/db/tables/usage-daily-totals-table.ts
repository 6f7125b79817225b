/** Roll-up per day of what was called (grain `model`) and of who called (grain `key`); written with each settlement. */
export interface UsageDailyTotalsTable {
  account_id: string
  grain: 'model' | 'key'
  day: string
  /** All zeros in grain `model`, and for usage without a key. */
  key_id: string
  /** Empty in grain `key`, as are the other columns of what was called. */
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
