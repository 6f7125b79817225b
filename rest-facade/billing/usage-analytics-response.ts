import { z } from 'zod'
import { USAGE_MODEL_TYPES, USAGE_UNIT_TYPES } from '../../server/domain/metering/hold.ts'
import { toUsdNumber } from '../../server/domain/money.ts'
import type {
  UsageAmounts,
  UsageAnalytics,
  UsageChartDay,
  UsageOfModel,
  UsageSums,
} from '../../server/domain/usage/reports/usage-analytics.ts'

const Totals = { totalUsd: z.number(), totalDiem: z.number(), totalUnits: z.number() }
/** A row has its `date` in milliseconds, and a key for each name. */
const Chart = z.array(z.record(z.string(), z.number()))

/** The body of the public API: amounts and units are JSON numbers, and charts have a key for each of their names. */
export const UsageAnalyticsBody = z.object({
  lookback: z.string(),
  byDate: z.array(z.object({ date: z.string(), USD: z.number(), DIEM: z.number() })),
  byModel: z.array(
    z.object({
      modelName: z.string(),
      unitType: z.enum(USAGE_UNIT_TYPES),
      modelType: z.enum(USAGE_MODEL_TYPES).nullable(),
      ...Totals,
      breakdown: z
        .array(z.object({ type: z.string(), usd: z.number(), diem: z.number(), units: z.number() }))
        .optional(),
    }),
  ),
  byModelDaily: Chart,
  topModels: z.array(z.string()),
  byKey: z.array(z.object({ apiKeyId: z.string().nullable(), description: z.string(), ...Totals })),
  byKeyDaily: Chart,
  topKeyNames: z.array(z.string()),
})

export function toUsageAnalytics(report: UsageAnalytics): z.output<typeof UsageAnalyticsBody> {
  return {
    lookback: report.lookback,
    byDate: report.byDate.map(({ day, ...amounts }) => {
      const { usd, diem } = toAmounts(amounts)
      return { date: day, USD: usd, DIEM: diem }
    }),
    byModel: report.byModel.map(toModel),
    byModelDaily: report.byModelDaily.map(toChartRow),
    topModels: report.topModels,
    byKey: report.byKey.map((key) => ({ apiKeyId: key.apiKeyId, description: key.name, ...toTotals(key) })),
    byKeyDaily: report.byKeyDaily.map(toChartRow),
    topKeyNames: report.topKeyNames,
  }
}

function toModel(model: UsageOfModel) {
  const { modelName, unitType, modelType, breakdown } = model
  return {
    modelName,
    unitType,
    modelType,
    ...toTotals(model),
    ...(breakdown.length === 0
      ? {}
      : { breakdown: breakdown.map(({ type, ...sums }) => ({ type, ...toAmounts(sums), units: Number(sums.units) })) }),
  }
}

function toTotals(sums: UsageSums) {
  const { usd, diem } = toAmounts(sums)
  return { totalUsd: usd, totalDiem: diem, totalUnits: Number(sums.units) }
}

function toAmounts({ usdNano, diemNano }: UsageAmounts) {
  return { usd: toUsdNumber(usdNano), diem: toUsdNumber(diemNano) }
}

function toChartRow({ day, diemNanoByName }: UsageChartDay) {
  const amounts = [...diemNanoByName].map(([name, diemNano]) => [name, toUsdNumber(diemNano)] as const)
  // From entries, because a key may be called `__proto__`.
  return Object.fromEntries([['date', Date.parse(day)] as const, ...amounts])
}
