import type { Generated, Selectable } from 'kysely'

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
  /** `[{type, units, amount, price}]`, amounts in nano-USD as strings; `price` in USD per unit, if there is one. */
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
  /** Rises with the commits of an account; null for events from before the request log. */
  position: Generated<bigint | null>
}

export type UsageEventRow = Selectable<UsageEventsTable>
