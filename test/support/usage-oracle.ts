import type { Usage } from '../../server/domain/metering/hold.ts'
import type { Currency } from '../../server/domain/money.ts'
import type { UsageCube, UsageDimension, UsageTimeUnit } from '../../server/domain/usage/reports/usage.ts'

/** A settled request, as a test remembers it. */
export interface SettledRequest {
  at: Date
  keyId: string | null
  currency: Currency
  chargedNanoUsd: bigint
  usage: Usage
}

export interface Sums {
  requests: number
  units: number
  usdNano: bigint
  diemNano: bigint
}

export interface CubeQuestion {
  timeZone: string
  unit: UsageTimeUnit | null
  dimensions: readonly Exclude<UsageDimension, UsageTimeUnit>[]
}

/** What the clocks of a zone show, with the offset, since an hour may come twice. */
function wallClock(at: Date, timeZone: string) {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  })
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  const day = `${parts['year']}-${parts['month']}-${parts['day']}`
  return { day, hour: `${day} ${parts['hour']} ${parts['timeZoneName']}` }
}

function slotOf(at: Date, { unit, timeZone }: CubeQuestion): string {
  const { day, hour } = wallClock(at, timeZone)
  if (unit === null) return ''
  if (unit === 'hour') return hour
  if (unit === 'month') return `${day.slice(0, 7)}-01`
  if (unit === 'day') return day
  const monday = new Date(`${day}T12:00:00Z`)
  while (monday.getUTCDay() !== 1) monday.setUTCDate(monday.getUTCDate() - 1)
  return monday.toISOString().slice(0, 10)
}

/** The rows of a cube, one request and line after the other, from nothing but what was settled. */
export function expectedCells(requests: readonly SettledRequest[], question: CubeQuestion): Map<string, Sums> {
  const cells = new Map<string, Sums>()
  const unitTypes = new Map<string, string>()
  for (const { at, keyId, currency, usage } of requests) {
    const seen = new Set<string>()
    for (const line of usage.lines) {
      const values: Record<(typeof question.dimensions)[number], string | null> = {
        sku: usage.sku,
        network: usage.unitType === 'credits' ? usage.sku.replace('crypto-rpc-', '') : null,
        method: line.type,
        api_key: keyId,
        currency,
        unit_type: usage.unitType,
        model_type: usage.modelType,
      }
      const name = JSON.stringify([slotOf(at, question), ...question.dimensions.map((dimension) => values[dimension])])
      const cell = cells.get(name) ?? { requests: 0, units: 0, usdNano: 0n, diemNano: 0n }
      // Units of several kinds have no sum.
      const isMixed = (unitTypes.get(name) ?? usage.unitType) !== usage.unitType
      cell.units = isMixed ? Number.NaN : cell.units + line.units
      unitTypes.set(name, usage.unitType)
      cell[`${currency}Nano`] += line.amountNanoUsd
      if (!seen.has(name)) cell.requests++
      seen.add(name)
      cells.set(name, cell)
    }
  }
  return cells
}

/** The rows of a cube in the same form. */
export function cellsOf({ rows, timeZone }: UsageCube, { unit, dimensions }: CubeQuestion): Map<string, Sums> {
  return new Map(
    rows.map((row) => {
      const values = {
        sku: row.sku,
        network: row.network,
        method: row.method,
        api_key: row.apiKeyId,
        currency: row.currency,
        unit_type: row.unitType,
        model_type: row.modelType,
      }
      const hour = row.startsAt === null ? '' : wallClock(row.startsAt, timeZone).hour
      const slot = unit === 'hour' ? hour : (row.day ?? '')
      const { requests, units, usdNano, diemNano } = row
      const name = JSON.stringify([slot, ...dimensions.map((dimension) => values[dimension])])
      return [name, { requests, units: units === null ? Number.NaN : Number(units), usdNano, diemNano }]
    }),
  )
}
