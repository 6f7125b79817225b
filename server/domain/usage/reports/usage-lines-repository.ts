import { type RawBuilder, sql } from 'kysely'
import { DAY_MS, utcDay } from '../../clock.ts'
import { type AccountDays, allDays } from '../closing/closed-days-repository.ts'
import { grainOf } from '../closing/usage-roll-ups.ts'
import { isTimeUnit, type UsageFilter } from './inputs.ts'
import { RPC_SKU_PREFIX, type UsageDimension, type UsageOrder } from './usage.ts'
import { needsHours, type UsageSlots } from './usage-slots.ts'

export interface UsageSelection extends UsageSlots {
  dimensions: readonly UsageDimension[]
  filter: UsageFilter
  order: UsageOrder
  rowsMax: number
}

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const MEASURES = ['requests', 'line_requests', 'units', 'amount_nano'] as const
const MEASURED = sql.join(MEASURES.map((measure) => sql.ref(measure)))
const HOUR_MEASURES = sql.join(
  MEASURES.flatMap((measure) => [measure, ...[15, 30, 45].map((cut) => `${measure}_${cut}`)]).map((name) =>
    sql.ref(name),
  ),
)
const HOUR_COLUMNS = sql`hour, key_id, sku, line_type, unit_type, currency, model_type, ${HOUR_MEASURES}`
const HOUR_COLUMNS_OF_TOTALS = sql`hour, key_id, sku, '' as line_type, unit_type, currency, model_type, ${HOUR_MEASURES}`
const NAMES = sql`key_id, sku, line_type, unit_type, currency, model_type`

/**
 * Roll-up rows with `slot`, the number of their slot, from 1. Days of another zone are UTC days with a few hours moved
 * from one day to the next, which takes far fewer rows than reading every hour.
 */
export function usageLines(account: AccountDays, selection: UsageSelection): RawBuilder<unknown> {
  if (selection.dimensions.includes('hour')) return linesOfHours(account, selection)
  const days = linesOfDays(account, selection)
  return needsHours(selection) ? sql`${days} union all ${movedHours(account, selection)}` : days
}

const nearestMidnight = (atMs: number): number => Math.round(atMs / DAY_MS) * DAY_MS

function linesOfDays(account: AccountDays, { boundsMs, dimensions, filter }: UsageSelection) {
  const bounds = boundsMs.map((atMs) => utcDay(new Date(nearestMidnight(atMs))))
  const slot = dimensions.some(isTimeUnit) ? sql`width_bucket(day, ${bounds}::date[])` : sql.lit(1)
  const rows = allDays(account, grainOf(dimensions, filter), bounds)
  return sql`select ${slot} as slot, ${NAMES}, ${MEASURED} from (${rows}) d ${where(conditions(filter))}`
}

/** The hours between each bound and the nearest UTC midnight, subtracted from one slot and added to another. */
function movedHours(account: AccountDays, selection: UsageSelection) {
  const { boundsMs } = selection
  const hours = boundsMs.flatMap((atMs) => {
    const [fromMs, toMs] = [Math.min(atMs, nearestMidnight(atMs)), Math.max(atMs, nearestMidnight(atMs))]
    return hoursBetween(fromMs, toMs)
  })
  const days = boundsMs.map((atMs) => toInstant(nearestMidnight(atMs)))
  return sql`select m.slot, ${NAMES}, ${sql.join(MEASURES.map((measure) => sql`m.sign * p.${sql.ref(measure)}`))}
    from (select * ${hourRows(account, selection, sql`hour = any(${hours}::timestamptz[])`)}) h
    cross join lateral (${pieces(boundsMs)}) p
    cross join lateral (values (1, p.slot), (-1, width_bucket(hour, ${days}::timestamptz[]))) m(sign, slot)
    where p.line_requests > 0 and p.slot <> width_bucket(hour, ${days}::timestamptz[])
      and m.slot between 1 and ${sql.lit(boundsMs.length - 1)}`
}

function linesOfHours(account: AccountDays, selection: UsageSelection) {
  const { boundsMs } = selection
  const fromMs = Math.floor((boundsMs[0] ?? 0) / HOUR_MS) * HOUR_MS
  const range = sql`hour >= ${toInstant(fromMs)}::timestamptz and hour < ${toInstant(boundsMs.at(-1) ?? 0)}::timestamptz`
  const rows = hourRows(account, selection, range)
  if (boundsMs.every((atMs) => atMs % HOUR_MS === 0)) {
    return sql`select width_bucket(hour, ${boundsMs.map(toInstant)}::timestamptz[]) as slot, ${NAMES}, ${MEASURED} ${rows}`
  }
  return sql`select p.slot, ${NAMES}, ${sql.join(MEASURES.map((measure) => sql`p.${sql.ref(measure)}`))}
    from (select * ${rows}) h cross join lateral (${pieces(boundsMs)}) p
    where p.line_requests > 0 and p.slot between 1 and ${sql.lit(boundsMs.length - 1)}`
}

/** Hours of closed days by the grain with the fewest rows, and of open days as settlements write them. */
function hourRows(account: AccountDays, { dimensions, filter }: UsageSelection, range: RawBuilder<unknown>) {
  const grain = grainOf(dimensions, filter)
  const all = sql`account_id = ${account.accountId} and ${range}`
  const hours = sql`select ${HOUR_COLUMNS} from usage_hourly where ${all}`
  if (grain === 'all' || grain === 'line') return sql`from (${hours}) h ${where(conditions(filter))}`
  const closedUntil = sql`${`${account.closedUntil} 00:00:00+00`}::timestamptz`
  return sql`from (
      select ${HOUR_COLUMNS_OF_TOTALS} from usage_hourly_totals where grain = ${sql.lit(grain)} and ${all} and hour < ${closedUntil}
      union all ${hours} and hour >= ${closedUntil}
    ) h ${where(conditions(filter))}`
}

/** Splits an hour at the bounds at minutes 15, 30 and 45, with the slot of each piece. */
function pieces(boundsMs: readonly number[]): RawBuilder<unknown> {
  const minutes = [...new Set([0, ...boundsMs.map((atMs) => (atMs % HOUR_MS) / MINUTE_MS)])].toSorted((a, b) => a - b)
  const values = minutes.map((minute, index) => piece(minute, minutes[index + 1]))
  return sql`select width_bucket(h.hour + v.minute * interval '1 minute', ${boundsMs.map(toInstant)}::timestamptz[]) as slot, v.*
    from (values ${sql.join(values)}) v(minute, ${MEASURED})`
}

/** The usage from one minute of an hour to the next cut, or to the hour's end. */
function piece(minute: number, next: number | undefined): RawBuilder<unknown> {
  const measures = MEASURES.map((measure) => {
    const until = sql.ref(next === undefined ? `h.${measure}` : `h.${measure}_${next}`)
    return minute === 0 ? until : sql`${until} - ${sql.ref(`h.${measure}_${minute}`)}`
  })
  return sql`(${sql.join([sql.lit(minute), ...measures])})`
}

function hoursBetween(fromMs: number, toMs: number): string[] {
  const hours = []
  for (let atMs = Math.floor(fromMs / HOUR_MS) * HOUR_MS; atMs < toMs; atMs += HOUR_MS) hours.push(toInstant(atMs))
  return hours
}

function toInstant(atMs: number): string {
  return new Date(atMs).toISOString()
}

function where(all: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return all.length === 0 ? sql`` : sql`where ${sql.join(all, sql` and `)}`
}

function conditions({ skus, networks, methods, apiKeyIds, ...filter }: UsageFilter): RawBuilder<unknown>[] {
  const all = []
  if (skus != null) all.push(sql`sku in (${sql.join(skus)})`)
  if (networks != null) {
    const networkSkus = networks.map((network) => RPC_SKU_PREFIX + network)
    all.push(sql`unit_type = 'credits' and sku in (${sql.join(networkSkus)})`)
  }
  if (methods != null) all.push(sql`line_type in (${sql.join(methods)})`)
  if (apiKeyIds != null) all.push(sql`key_id in (${sql.join(apiKeyIds)})`)
  if (filter.currencies != null) all.push(sql`currency in (${sql.join(filter.currencies)})`)
  if (filter.unitTypes != null) all.push(sql`unit_type in (${sql.join(filter.unitTypes)})`)
  if (filter.modelTypes != null) all.push(sql`model_type in (${sql.join(filter.modelTypes)})`)
  return all
}
