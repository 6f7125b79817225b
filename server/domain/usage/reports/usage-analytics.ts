import type { USAGE_MODEL_TYPES, USAGE_UNIT_TYPES } from '../../metering/hold.ts'
import type { UsageRange } from './usage-range.ts'

export interface UsageAmounts {
  usdNano: bigint
  diemNano: bigint
}

export interface UsageSums extends UsageAmounts {
  /** Exact decimal text. */
  units: string
}

export interface UsageOfDay extends UsageAmounts {
  /** UTC, `YYYY-MM-DD`. */
  day: string
}

export interface UsageOfModel extends UsageSums {
  /** Display name; `crypto-rpc-<network>` for RPC. */
  modelName: string
  unitType: (typeof USAGE_UNIT_TYPES)[number]
  /** Null for RPC. */
  modelType: (typeof USAGE_MODEL_TYPES)[number] | null
  /** One entry per line type, most expensive first; empty if there is only one type. */
  breakdown: (UsageSums & { type: string })[]
}

export interface UsageOfKey extends UsageSums {
  /** Null for usage without a key. */
  apiKeyId: string | null
  /** The key's description, made unique among the account's keys; `Web App` without a key. */
  name: string
}

/** One day of a chart: the DIEM paid under each of the top names, zeros included. */
export interface UsageChartDay {
  day: string
  diemNanoByName: ReadonlyMap<string, bigint>
}

export interface UsageAnalytics extends UsageRange {
  /** `<N>d` or `<startDate>:<endDate>`. */
  lookback: string
  /** Every day of the range, ascending. */
  byDate: UsageOfDay[]
  /** Most expensive first, both currencies together; the same for keys. */
  byModel: UsageOfModel[]
  byModelDaily: UsageChartDay[]
  topModels: string[]
  byKey: UsageOfKey[]
  byKeyDaily: UsageChartDay[]
  topKeyNames: string[]
}
