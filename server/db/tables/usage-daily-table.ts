import type { Generated } from 'kysely'

/** Roll-up per day, key, model and kind of unit, written with each settlement, so analytics never scan events. */
export interface UsageDailyTable {
  account_id: string
  day: string
  /** All zeros for usage without a key. */
  key_id: string
  sku: string
  line_type: string
  currency: 'usd' | 'diem'
  model_name: string
  model_type: string | null
  unit_type: string
  /** Counted once per request, on its first line. */
  requests: bigint
  /** Requests that have a line of this type. */
  line_requests: Generated<bigint>
  /** numeric: decimal text. */
  units: string
  amount_nano: bigint
}
