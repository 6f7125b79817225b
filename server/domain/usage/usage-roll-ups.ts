import type { UsageDimension } from './usage.ts'
import type { UsageFilter } from './inputs.ts'

/** What of the key, the model and the kind of line a question needs. */
export interface UsageDetail {
  key: boolean
  model: boolean
  line: boolean
}

const DETAIL_OF: Partial<Record<UsageDimension, keyof UsageDetail>> = {
  sku: 'model',
  network: 'model',
  model_type: 'model',
  method: 'line',
  api_key: 'key',
}

export function detailOf(dimensions: readonly UsageDimension[], filter: UsageFilter): UsageDetail {
  const asked = new Set(dimensions.map((dimension) => DETAIL_OF[dimension]))
  return {
    key: asked.has('key') || filter.apiKeyIds != null,
    model: asked.has('model') || filter.skus != null || filter.networks != null || filter.modelTypes != null,
    line: asked.has('line') || filter.methods != null,
  }
}

interface RollUp {
  table: 'usage_daily' | 'usage_daily_totals' | 'usage_hourly'
  grain: 'model' | 'key' | 'all' | null
}

/** The smallest roll-up of days that has the detail; keys are fewer than what they call. */
export function daysWith({ key, model, line }: UsageDetail): RollUp {
  if (key && (model || line)) return { table: 'usage_daily', grain: null }
  return { table: 'usage_daily_totals', grain: model || line ? 'model' : 'key' }
}

/** The smallest roll-up of hours that has the detail. */
export function hoursWith({ key, model, line }: UsageDetail): RollUp {
  if (line || (key && model)) return { table: 'usage_hourly', grain: 'all' }
  return { table: 'usage_hourly', grain: model ? 'model' : 'key' }
}
