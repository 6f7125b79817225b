import type { USAGE_MODEL_TYPES, USAGE_UNIT_TYPES } from '../../metering/hold.ts'
import type { UsageRange } from './usage-range.ts'

/** Charges in nano-USD of both currencies. */
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
  /** Name on display; `crypto-rpc-<network>` for RPC. */
  modelName: string
  unitType: (typeof USAGE_UNIT_TYPES)[number]
  /** Null for RPC. */
  modelType: (typeof USAGE_MODEL_TYPES)[number] | null
  /** One entry per kind of line, the costliest first; empty where there is only one kind. */
  breakdown: (UsageSums & { type: string })[]
}

export interface UsageOfKey extends UsageSums {
  /** Null for usage without a key. */
  apiKeyId: string | null
  /** The key's description, made distinct from those of other keys; `Web App` without a key. */
  name: string
}

/** A day of a chart: what each of the top names paid in DIEM, zeros included. */
export interface UsageChartDay {
  day: string
  diemNanoByName: ReadonlyMap<string, bigint>
}

/** The specification's usage report, part `GET /billing/usage-analytics`. */
export interface UsageAnalytics extends UsageRange {
  /** `<N>d` or `<startDate>:<endDate>`. */
  lookback: string
  /** Every day of the range, ascending. */
  byDate: UsageOfDay[]
  /** The costliest first, both currencies together; so are the keys. */
  byModel: UsageOfModel[]
  byModelDaily: UsageChartDay[]
  topModels: string[]
  byKey: UsageOfKey[]
  byKeyDaily: UsageChartDay[]
  topKeyNames: string[]
}
