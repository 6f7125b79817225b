import type { USAGE_UNIT_TYPES } from '../metering/hold.ts'
import type { Currency } from '../money.ts'

/** What usage can be split by. A unit of time finer or coarser than the day is a further value here. */
export const USAGE_DIMENSIONS = ['day', 'sku', 'network', 'method', 'api_key', 'currency', 'unit_type'] as const
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number]

/** What RPC settles under is this and the network's slug. */
export const RPC_SKU_PREFIX = 'crypto-rpc-'

/** Values that a row stands for; null where the report is not split by that dimension. */
export interface UsageDimensions {
  /** UTC, `YYYY-MM-DD`. */
  day: string | null
  /** Model id, or `crypto-rpc-<network>`. */
  sku: string | null
  /** Slug of the network; null as well for usage of models. */
  network: string | null
  /** JSON-RPC method; for models the kind of line, such as `Input`. */
  method: string | null
  /** Null as well for usage without a key. */
  apiKeyId: string | null
  currency: Currency | null
  unitType: (typeof USAGE_UNIT_TYPES)[number] | null
}

export interface UsageMeasures {
  /** Requests, each counted once: on its first line. */
  requests: number
  /** Exact decimal text; null where units of several kinds would be added up. */
  units: string | null
  /** Both currencies together where several are: 1 DIEM is worth 1 USD. */
  amountNanoUsd: bigint
}

export type UsageRow = UsageDimensions & UsageMeasures

export interface UsageReport {
  /** First and last day, UTC, both included. */
  from: string
  to: string
  /** Highest amount first, then by the dimensions. */
  rows: UsageRow[]
  /** Of everything that matches, rows that were cut off included. */
  totals: UsageMeasures
  /** Whether there are more rows than are given. */
  truncated: boolean
}
