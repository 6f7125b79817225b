import type { UsageModelType, UsageUnitType } from '../../metering/hold.ts'
import type { Currency } from '../../money.ts'

/** Time units of a report, in the chosen time zone. */
export const USAGE_TIME_UNITS = ['hour', 'day', 'week', 'month'] as const
export type UsageTimeUnit = (typeof USAGE_TIME_UNITS)[number]

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

/** RPC usage is recorded under this prefix and the network's slug. */
export const RPC_SKU_PREFIX = 'crypto-rpc-'

/** The dimensions of a row; null if the report is not split by the dimension. */
export interface UsageDimensions {
  /** Start of the row's hour, day, week or month. */
  startsAt: Date | null
  /** The day of the start in the time zone, `YYYY-MM-DD`. */
  day: string | null
  /** Model id, or `crypto-rpc-<network>`. */
  sku: string | null
  /** Slug of the network; also null for model usage. */
  network: string | null
  /** JSON-RPC method; for models the line type, such as `Input`. */
  method: string | null
  /** Also null for usage without a key. */
  apiKeyId: string | null
  currency: Currency | null
  unitType: UsageUnitType | null
  /** Also null for RPC. */
  modelType: UsageModelType | null
}

export interface UsageMeasures {
  /** Requests, each counted only once; in rows by method, once for each of its methods. */
  requests: number
  /** Exact decimal text; null if the sum would mix unit types. */
  units: string | null
  /** Sum of the currencies in the row: 1 DIEM is worth 1 USD. */
  amountNanoUsd: bigint
  usdNano: bigint
  diemNano: bigint
}

export type UsageRow = UsageDimensions & UsageMeasures

export interface UsageCube {
  /** First and last day in the time zone, both inclusive. */
  from: string
  to: string
  timeZone: string
  /** In the requested order, then by the dimensions. */
  rows: UsageRow[]
  /** Totals of all matching usage, including truncated rows. */
  totals: UsageMeasures
  truncated: boolean
}
