import { toUsdNumber } from '../../server/domain/money.ts'
import type {
  UsageAmounts,
  UsageAnalytics,
  UsageChartDay,
  UsageOfModel,
  UsageSums,
} from '../../server/domain/usage/reports/usage-analytics.ts'

/** The specification's body: amounts and units are JSON numbers, and charts have a key for each of their names. */
export function toUsageAnalytics(report: UsageAnalytics) {
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
