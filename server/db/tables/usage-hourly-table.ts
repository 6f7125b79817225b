/** The totals of an hour, and of its part before minutes 15, 30 and 45. */
export interface HourMeasures {
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

/** Roll-up per hour, key, model and kind of line, written with each settlement; partitioned by month. */
export interface UsageHourlyTable extends HourMeasures {
  account_id: string
  hour: Date
  /** All zeros for usage without a key. */
  key_id: string
  sku: string
  line_type: string
  currency: 'usd' | 'diem'
  model_type: string | null
  unit_type: string
}
