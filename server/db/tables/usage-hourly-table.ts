/** Hours of the roll-ups and the part of each before its minute 15, 30 and 45; partitioned by month. */
export interface UsageHourlyTable {
  account_id: string
  /** By what was called, by who called, or by both and the kind of line. */
  grain: 'model' | 'key' | 'all'
  hour: Date
  key_id: string
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
  requests_15: bigint
  requests_30: bigint
  requests_45: bigint
  line_requests_15: bigint
  line_requests_30: bigint
  line_requests_45: bigint
  units_15: string
  units_30: string
  units_45: string
  amount_nano_15: bigint
  amount_nano_30: bigint
  amount_nano_45: bigint
}
