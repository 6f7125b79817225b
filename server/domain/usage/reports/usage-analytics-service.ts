import { LRUCache } from 'lru-cache'
import { type Clock, utcDay } from '../../clock.ts'
import { itemAt } from '../../item-at.ts'
import { keyIdOrNull } from '../closing/closed-days-repository.ts'
import { chartNames, modelChartName } from './chart-names.ts'
import type { UsageAnalyticsQuery } from './inputs.ts'
import type { UsageAnalytics, UsageChartDay, UsageOfKey, UsageOfModel } from './usage-analytics.ts'
import type { AnalyticsSums, ModelLineSums, UsageAnalyticsRepository } from './usage-analytics-repository.ts'
import { daysOf, lastDays, toUsageRange, type UsageRange } from './usage-range.ts'

const TOP_MAX = 8
const CACHE_MS = 600_000
const CACHED_REPORTS_MAX = 256
const FIELDS = { from: 'startDate', to: 'endDate' }

type Report = Omit<UsageAnalytics, 'lookback'>

interface CachedReport {
  readAtMs: number
  report: Promise<Report>
}

export interface UsageAnalyticsServiceDeps {
  analytics: UsageAnalyticsRepository
  clock: Clock
}

/** The usage report (`GET /billing/usage-analytics`), from the daily roll-ups. */
export class UsageAnalyticsService {
  readonly #deps: UsageAnalyticsServiceDeps
  readonly #cache = new LRUCache<string, CachedReport>({ max: CACHED_REPORTS_MAX })

  constructor(deps: UsageAnalyticsServiceDeps) {
    this.#deps = deps
  }

  /**
   * Spending over at most 90 UTC days by day, model and key, at most 10 minutes old; amounts are nano-USD. A range
   * overrides `lookback`. Fails with `invalid_request` that names the invalid field.
   */
  async report(accountId: string, { lookback, startDate, endDate }: UsageAnalyticsQuery): Promise<UsageAnalytics> {
    const today = utcDay(this.#deps.clock.now())
    if (startDate == null && endDate == null) {
      return { lookback: `${lookback}d`, ...(await this.#cached(accountId, lastDays(lookback, today))) }
    }
    const range = toUsageRange({ from: startDate, to: endDate }, today, FIELDS)
    return { lookback: `${range.from}:${range.to}`, ...(await this.#cached(accountId, range)) }
  }

  /** Concurrent requests for the same report share one read. */
  #cached(accountId: string, range: UsageRange): Promise<Report> {
    const name = `${accountId} ${range.from} ${range.to}`
    const nowMs = this.#deps.clock.nowMs()
    const cached = this.#cache.get(name)
    if (cached !== undefined && nowMs - cached.readAtMs < CACHE_MS) return cached.report
    const report = this.#deps.analytics.read(accountId, range, TOP_MAX).then((sums) => toReport(sums, range))
    const entry = { readAtMs: nowMs, report }
    this.#cache.set(name, entry)
    report.catch(() => {
      if (this.#cache.peek(name) === entry) this.#cache.delete(name)
    })
    return report
  }
}

function toReport(sums: AnalyticsSums, range: UsageRange): Report {
  const days = daysOf(range)
  const ofDay = new Map(sums.days.map((day) => [day.day, day]))
  const byKey = toKeys(sums)
  const nameOfKey = new Map(byKey.map(({ apiKeyId, name }) => [apiKeyId, name]))
  const keyName = (keyId: string) => nameOfKey.get(keyIdOrNull(keyId)) ?? keyId
  const topModels = sums.topModels.map(modelChartName)
  const topKeyNames = sums.topKeyIds.map(keyName)
  return {
    ...range,
    byDate: days.map((day) => {
      const found = ofDay.get(day)
      return { day, usdNano: BigInt(found?.usd ?? 0), diemNano: BigInt(found?.diem ?? 0) }
    }),
    byModel: toModels(sums.lines),
    byModelDaily: toChart(
      sums.modelDays.map(({ name, ...row }) => ({ ...row, name: modelChartName(name) })),
      { days, names: topModels },
    ),
    topModels,
    byKey,
    byKeyDaily: toChart(
      sums.keyDays.map(({ keyId, ...row }) => ({ ...row, name: keyName(keyId) })),
      { days, names: topKeyNames },
    ),
    topKeyNames,
  }
}

function toModels(lines: readonly ModelLineSums[]): UsageOfModel[] {
  const grouped = Map.groupBy(lines, (line) => JSON.stringify([line.modelName, line.unitType, line.modelType]))
  return [...grouped.values()].flatMap((group): UsageOfModel[] => {
    const [first] = group
    if (first === undefined) return []
    const breakdown = group.map((line) => ({
      type: line.lineType,
      usdNano: BigInt(line.usd),
      diemNano: BigInt(line.diem),
      units: line.units,
    }))
    return [
      {
        modelName: modelChartName(first.modelName),
        unitType: first.unitType,
        modelType: first.modelType,
        usdNano: breakdown.reduce((sum, { usdNano }) => sum + usdNano, 0n),
        diemNano: breakdown.reduce((sum, { diemNano }) => sum + diemNano, 0n),
        units: first.modelUnits,
        breakdown: breakdown.length > 1 ? breakdown : [],
      },
    ]
  })
}

function toKeys({ keys }: AnalyticsSums): UsageOfKey[] {
  const names = chartNames(
    keys.map((key) => ({
      apiKeyId: keyIdOrNull(key.keyId),
      description: key.description ?? '',
      last6Chars: key.last6Chars ?? '',
    })),
  )
  return keys.map((key, index) => ({
    apiKeyId: keyIdOrNull(key.keyId),
    name: itemAt(names, index),
    usdNano: BigInt(key.usd),
    diemNano: BigInt(key.diem),
    units: key.units,
  }))
}

function toChart(
  rows: readonly { day: string; name: string; diem: string }[],
  { days, names }: { days: readonly string[]; names: readonly string[] },
): UsageChartDay[] {
  const byDay = Map.groupBy(rows, ({ day }) => day)
  return days.map((day) => {
    const diemNanoByName = new Map(names.map((name) => [name, 0n]))
    for (const { name, diem } of byDay.get(day) ?? []) {
      diemNanoByName.set(name, (diemNanoByName.get(name) ?? 0n) + BigInt(diem))
    }
    return { day, diemNanoByName }
  })
}
