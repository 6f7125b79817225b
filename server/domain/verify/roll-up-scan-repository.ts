import { type RawBuilder, sql } from 'kysely'
import { addDays } from '../clock.ts'
import { DAY_MEASURES, HOUR_MEASURES } from './event-checks-repository.ts'
import { FIRST_MONTH_OF_HOURS, inRange, type ReadSnapshot, type Snapshot, unionOf } from './snapshot-repository.ts'
import { expiredDays, spanOf } from './usage-sums-repository.ts'
import type { CheckId, Violation } from './verification.ts'
import { type AccountRange, LAST_ID, NO_KEY, type StepOptions, type VerifyStep } from './verify-scan.ts'

/**
 * Roll-ups of some accounts, from one day until before another; both begin a four-week span, so no total crosses them.
 */
interface RollUpRange extends AccountRange {
  from: string
  before: string
}

/**
 * Checks the roll-ups of an account: hours against days, totals against their parts, and days that have lost their
 * events.
 */
export const rollUpScan = {
  name: 'roll-ups',

  async step(read: ReadSnapshot, { position: { after, within }, rows }: StepOptions): Promise<VerifyStep> {
    const account = within?.['account']
    if (account === undefined) return read((snapshot) => checkAccounts(snapshot, after, rows))
    const from = within?.['from'] ?? '-infinity'
    const { starts, before } = await read((snapshot) => nextWeeks(snapshot, { account, from, rows }))
    const range = { after, until: account, from, before }
    const violations: Violation[] = []
    // Each check has its own snapshot, and hours are read week by week, because those of a large account may take long.
    for (const [id, statement] of [...dayChecks(range), ...weeksOf(range, starts).flatMap(hourChecks)]) {
      violations.push(...(await read((snapshot) => snapshot.violations(id, statement))))
    }
    return {
      violations,
      next: before === 'infinity' ? { after: account } : { after, within: { account, from: before } },
    }
  },
}

async function checkAccounts(snapshot: Snapshot, after: string, rows: number): Promise<VerifyStep> {
  const check = (until: string) => {
    const range = { after, until, from: '-infinity', before: 'infinity' }
    return snapshot.rows<Violation>(unionOf([...dayChecks(range), ...hourChecks(range)]))
  }
  const [beyond] = await snapshot.rows<{ account_id: string }>(sql`select account_id from usage_daily
    where account_id > ${after}::uuid order by account_id, day offset ${rows} limit 1`)
  if (beyond === undefined) return { violations: await check(LAST_ID), next: null }
  const [last] = await snapshot.rows<{ account_id: string }>(sql`select account_id from usage_daily
    where account_id > ${after}::uuid and account_id < ${beyond.account_id}::uuid order by account_id desc limit 1`)
  if (last === undefined) {
    return { violations: [], next: { after, within: { account: beyond.account_id, from: '-infinity' } } }
  }
  return { violations: await check(last.account_id), next: { after: last.account_id } }
}

interface AccountWeeks {
  account: string
  from: string
  rows: number
}

/**
 * The end of the days of a large account that fit into a slice: whole four-week spans, at least the one of its first day
 * `starts`.
 */
async function nextWeeks(snapshot: Snapshot, { account, from, rows }: AccountWeeks) {
  const ofAccount = sql`from usage_daily where account_id = ${account}::uuid and day >= ${from}::date`
  const [row] = await snapshot.rows<{ starts: string | null; before: string }>(sql`
    with first as (select ${spanOf(sql`min(day)`, 28)} as starts ${ofAccount}),
    beyond as (select ${spanOf(sql`day`, 28)} as starts ${ofAccount} order by day offset ${rows} limit 1)
    select f.starts, case when b.starts is null then 'infinity' else greatest(b.starts, f.starts + 28)::text end as before
    from first f left join beyond b on true`)
  return row ?? { starts: null, before: 'infinity' }
}

/** The range, with its first four weeks split into single weeks. */
function weeksOf(range: RollUpRange, starts: string | null): RollUpRange[] {
  if (starts === null) return [range]
  const bounds = [range.from, ...[7, 14, 21].map((days) => addDays(starts, days)), range.before]
  return bounds.slice(1).map((before, index) => ({ ...range, from: bounds[index] ?? range.from, before }))
}

function dayChecks(range: RollUpRange): [CheckId, RawBuilder<unknown>][] {
  return [
    ['I12', totalsUnlikeDays(range, 1)],
    ['I12', totalsUnlikeDays(range, 7)],
    ['I12', totalsUnlikeDays(range, 28)],
    ['I15', daysWithoutEvents(range)],
  ]
}

function hourChecks(range: RollUpRange): [CheckId, RawBuilder<unknown>][] {
  return [
    ['I12', hoursUnlikeDays(range)],
    ['I12', totalsUnlikeHours(range)],
  ]
}

const refs = (columns: readonly string[], alias?: string) =>
  sql.join(columns.map((column) => sql.ref(alias === undefined ? column : `${alias}.${column}`)))
const sumsOf = (columns: readonly string[]) =>
  sql.join(columns.map((column) => sql`sum(${sql.ref(column)}) as ${sql.ref(column)}`))

const dayIn = (day: RawBuilder<unknown>, { from, before }: RollUpRange) =>
  sql`${day} >= ${from}::date and ${day} < ${before}::date`
const hourIn = (alias: string, range: RollUpRange) => {
  const hour = sql.ref(`${alias}.hour`)
  return sql`${inRange(alias, range)} and ${hour} >= ${range.from}::date::timestamp at time zone 'UTC'
    and ${hour} < ${range.before}::date::timestamp at time zone 'UTC'`
}
const DAY_OF_HOUR = sql`(h.hour at time zone 'UTC')::date`

/** The first day whose hours are kept. Hours are dropped by month, or by day if no month has a partition. */
const firstDayOfHours = (range: RollUpRange) => sql`least(${FIRST_MONTH_OF_HOURS},
  (select min(${DAY_OF_HOUR}) from usage_hourly_default h where ${inRange('h', range)}))`

function hoursUnlikeDays(range: RollUpRange) {
  const key = sql`account_id, day, key_id, sku, line_type, currency`
  return sql`select format('account %s day %s key %s %s %s %s: day %s, hours %s', account_id, day, key_id, sku, line_type, currency,
      coalesce(d.amount_nano::text, 'none'), coalesce(h.amount_nano::text, 'none')) as place
    from (
      select ${key}, ${refs(DAY_MEASURES)} from usage_daily d
      where ${inRange('d', range)} and ${dayIn(sql`d.day`, range)} and d.day >= ${firstDayOfHours(range)}
    ) d
    full join (
      select account_id, ${DAY_OF_HOUR} as day, key_id, sku, line_type, currency, ${sumsOf(DAY_MEASURES)}
      from usage_hourly h where ${hourIn('h', range)} group by 1, 2, 3, 4, 5, 6
    ) h using (${key})
    where (${refs(DAY_MEASURES, 'd')}) is distinct from (${refs(DAY_MEASURES, 'h')})`
}

/**
 * Compares totals of one length by every grain with the days; there are no one-day totals by everything, since the daily
 * roll-ups are these.
 */
function totalsUnlikeDays(range: RollUpRange, length: number) {
  const key = sql`account_id, grain, starts, key_id, sku, line_type, unit_type, currency`
  const starts = spanOf(sql`d.day`, length)
  return sql`select format(${sql.lit(`account %s ${length} days from %s by %s, key %s %s %s %s %s: total %s, days %s`)}, account_id, starts, grain,
      key_id, sku, line_type, unit_type, currency, coalesce(t.amount_nano::text, 'none'), coalesce(d.amount_nano::text, 'none')) as place
    from (
      select ${refs(['grain', 'starts', 'key_id', 'sku', 'line_type', 'unit_type', 'currency'], 't')}, t.account_id, ${refs(DAY_MEASURES, 't')}
      from usage_daily_totals t join usage_closings c using (account_id)
      where ${inRange('t', range)} and t.days = ${sql.lit(length)} and ${dayIn(sql`t.starts`, range)}
        and t.grain = any('{all,line,model,key,total}') and t.starts <= c.closed_until - ${sql.lit(length)}
    ) t
    full join (
      select account_id, case when grouping(line_type) = 0 and grouping(key_id) = 0 then 'all' when grouping(line_type) = 0 then 'line'
          when grouping(sku) = 0 then 'model' when grouping(key_id) = 0 then 'key' else 'total' end as grain,
        starts, coalesce(key_id, ${NO_KEY}::uuid) as key_id, coalesce(sku, '') as sku, coalesce(line_type, '') as line_type,
        unit_type, currency, ${sumsOf(DAY_MEASURES)}
      from (
        select d.*, ${starts} as starts from usage_daily d join usage_closings c using (account_id)
        where ${inRange('d', range)} and ${dayIn(sql`d.day`, range)} and ${starts} <= c.closed_until - ${sql.lit(length)}
      ) d
      group by account_id, starts, unit_type, currency,
        grouping sets (${length === 1 ? sql`` : sql`(key_id, sku, line_type), `}(sku, line_type), (sku), (key_id), ())
    ) d using (${key})
    where (${refs(DAY_MEASURES, 't')}) is distinct from (${refs(DAY_MEASURES, 'd')})`
}

function totalsUnlikeHours(range: RollUpRange) {
  const key = sql`account_id, grain, hour, key_id, sku, unit_type, currency`
  const closed = (alias: string) => sql`${hourIn(alias, range)}
    and (${sql.ref(`${alias}.hour`)} at time zone 'UTC')::date < c.closed_until
    and (${sql.ref(`${alias}.hour`)} at time zone 'UTC')::date >= ${firstDayOfHours(range)}`
  return sql`select format('account %s hour %s by %s, key %s %s %s %s: total %s, hours %s', account_id, hour, grain, key_id, sku, unit_type,
      currency, coalesce(t.amount_nano::text, 'none'), coalesce(h.amount_nano::text, 'none')) as place
    from (
      select ${refs(['account_id', 'grain', 'hour', 'key_id', 'sku', 'unit_type', 'currency'], 't')}, ${refs(HOUR_MEASURES, 't')}
      from usage_hourly_totals t join usage_closings c on c.account_id = t.account_id
      where t.grain = any('{model,key,total}') and ${closed('t')}
    ) t
    full join (
      select u.account_id, case when grouping(sku) = 0 then 'model' when grouping(key_id) = 0 then 'key' else 'total' end as grain, hour,
        coalesce(key_id, ${NO_KEY}::uuid) as key_id, coalesce(sku, '') as sku, unit_type, currency, ${sumsOf(HOUR_MEASURES)}
      from usage_hourly u join usage_closings c on c.account_id = u.account_id where ${closed('u')}
      group by u.account_id, hour, unit_type, currency, grouping sets ((sku), (key_id), ())
    ) h using (${key})
    where (${refs(HOUR_MEASURES, 't')}) is distinct from (${refs(HOUR_MEASURES, 'h')})`
}

/** Retention drops the events of the first days as a whole; after those, every day with usage must have events. */
function daysWithoutEvents(range: RollUpRange) {
  return sql`select format('account %s day %s: usage %s, no events', d.account_id, d.day, d.total) as place
    from (
      select account_id, day, sum(amount_nano) as total from usage_daily d
      where ${inRange('d', range)} and ${dayIn(sql`d.day`, range)} group by 1, 2
    ) d
    left join (${expiredDays(range)}) x on x.account_id = d.account_id
    where (x.before is null or d.day >= x.before)
      and (select 1 from usage_events u where u.account_id = d.account_id and u.day = d.day limit 1) is null`
}
