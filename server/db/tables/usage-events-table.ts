/** One settled request; partitioned by day. */
export interface UsageEventsTable {
  account_id: string
  day: string
  request_id: string
  key_id: string | null
  currency: 'usd' | 'diem'
  sku: string
  model_name: string
  model_type: string | null
  unit_type: string
  /** `[{type, units, amount}]`, amounts in nano-USD as strings. */
  lines: unknown
  charge_nano: bigint
  hold_nano: bigint
  outcome: string
  estimated: boolean
  upstream_id: string | null
  retries: number
  duration_ms: number
  admitted_at: Date
  settled_at: Date
}
