import type { UsageModelType, UsageUnitType } from '../../metering/hold.ts'
import type { Currency } from '../../money.ts'

/** Units of time by which usage can be split, in a time zone of choice. */
export const USAGE_TIME_UNITS = ['hour', 'day', 'week', 'month'] as const
export type UsageTimeUnit = (typeof USAGE_TIME_UNITS)[number]

/** What usage can be split by. */
export const USAGE_DIMENSIONS = [
  ...USAGE_TIME_UNITS,
  'sku',
  'network',
  'method',
  'api_key',
  'currency',
  'unit_type',
  'model_type',
] as const
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number]

export const USAGE_ORDERS = ['amount', 'time'] as const
export type UsageOrder = (typeof USAGE_ORDERS)[number]

/** What RPC settles under is this and the network's slug. */
export const RPC_SKU_PREFIX = 'crypto-rpc-'

/** Values that a row stands for; null where the report is not split by that dimension. */
export interface UsageDimensions {
  /** When the row's hour, day, week or month begins. */
  startsAt: Date | null
  /** The zone's day at that instant, `YYYY-MM-DD`. */
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
  unitType: UsageUnitType | null
  /** Null as well for RPC. */
  modelType: UsageModelType | null
}

export interface UsageMeasures {
  /** Requests, each counted once; in rows by method, with each method that it has. */
  requests: number
  /** Exact decimal text; null where units of several kinds would be added up. */
  units: string | null
  /** Both currencies together where several are: 1 DIEM is worth 1 USD. */
  amountNanoUsd: bigint
  usdNano: bigint
  diemNano: bigint
}

export type UsageRow = UsageDimensions & UsageMeasures

export interface UsageCube {
  /** First and last day of the zone, both included. */
  from: string
  to: string
  timeZone: string
  /** In the order asked for, then by the dimensions. */
  rows: UsageRow[]
  /** Of everything that matches, rows that were cut off included. */
  totals: UsageMeasures
  /** Whether there are more rows than are given. */
  truncated: boolean
}
