import { type RawBuilder, sql } from 'kysely'
import { FIRST_MONTH_OF_HOURS } from './snapshot-repository.ts'
import type { CheckId } from './verification.ts'
import { NO_KEY } from './verify-scan.ts'

const CUTS = [15, 30, 45] as const
const MEASURES = ['requests', 'line_requests', 'units', 'amount_nano'] as const
export const DAY_MEASURES: readonly string[] = MEASURES
export const HOUR_MEASURES: readonly string[] = MEASURES.flatMap((measure) => [
  measure,
  ...CUTS.map((cut) => `${measure}_${cut}`),
])

/** The events of a slice as `e`, each with the sum of its lines and its ledger charge. */
export function events(table: RawBuilder<unknown>, where: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select u.*, l.total as lines_nano, t.currency as charge_currency, t.amount_nano as charged_nano, t.created_at as charged_at
    from ${table} u
    cross join lateral (
      select coalesce(sum(x.amount), 0) as total from json_to_recordset(u.lines) x(amount bigint)
    ) l
    left join lateral (
      select * from ledger_transfers t where t.account_id = u.account_id and t.request_id = u.request_id and t.kind = 'charge' offset 0
    ) t on true
    where ${where}`
}

const PLACE = sql`format('account %s day %s request %s', e.account_id, e.day, e.request_id)`

export const EVENT_CHECKS: readonly [CheckId, RawBuilder<unknown>][] = [
  [
    'I13',
    sql`select ${PLACE} || format(': event %s %s at %s, charge %s %s at %s', e.charge_nano, e.currency, e.settled_at,
        coalesce(e.charged_nano::text, 'none'), e.charge_currency, e.charged_at)
      from e where (e.charge_nano = 0) <> (e.charged_nano is null) or (e.charged_nano is not null
        and (e.charge_nano, e.currency, e.settled_at) is distinct from (e.charged_nano, e.charge_currency, e.charged_at))`,
  ],
  [
    'I14',
    sql`select ${PLACE} || format(': lines %s, charge %s, hold %s, admitted at %s', e.lines_nano, e.charge_nano, e.hold_nano, e.admitted_at)
      from e where e.lines_nano <> e.charge_nano or e.charge_nano > e.hold_nano
        or e.day <> (e.admitted_at at time zone 'UTC')::date`,
  ],
]

/**
 * The totals of the events `e`, by quarter of an hour and the whole key of the roll-ups; requests count with their first
 * line.
 */
export const CELLS = sql`select e.account_id, e.day, date_trunc('hour', e.admitted_at, 'UTC') as hour,
    extract(minute from e.admitted_at)::int / 15 as quarter, coalesce(e.key_id, ${NO_KEY}::uuid) as key_id,
    e.sku, l.type as line_type, e.currency, count(*) filter (where l.ordinality = 1) as requests, count(*) as line_requests,
    sum(l.units) as units, sum(l.amount) as amount_nano
  from e cross join lateral rows from (json_to_recordset(e.lines) as (type text, units numeric, amount bigint))
    with ordinality l(type, units, amount, ordinality)
  group by 1, 2, 3, 4, 5, 6, 7, 8`

const refs = (columns: readonly string[], alias?: string) =>
  sql.join(columns.map((column) => sql.ref(alias === undefined ? column : `${alias}.${column}`)))

const sums = sql.join(MEASURES.map((measure) => sql`sum(${sql.ref(measure)}) as ${sql.ref(measure)}`))
const cutSums = sql.join(
  MEASURES.flatMap((measure) => [
    sql`sum(${sql.ref(measure)}) as ${sql.ref(measure)}`,
    ...CUTS.map(
      (cut) =>
        sql`coalesce(sum(${sql.ref(measure)}) filter (where quarter < ${sql.lit(cut / 15)}), 0) as ${sql.ref(`${measure}_${cut}`)}`,
    ),
  ]),
)

interface RollUp {
  time: 'day' | 'hour'
  cells: RawBuilder<unknown>
  measures: readonly string[]
  sums: RawBuilder<unknown>
}

const DAYS: RollUp = { time: 'day', cells: sql`cells`, measures: DAY_MEASURES, sums }
const HOURS: RollUp = { time: 'hour', cells: sql`hour_cells`, measures: HOUR_MEASURES, sums: cutSums }

/** Compares cells with the rows of a roll-up by their whole key. */
function unlikeCells({ time, cells, measures, sums: totals }: RollUp, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const key = sql`account_id, ${sql.ref(time)}, key_id, sku, line_type, currency`
  return sql`select format(${sql.lit(`account %s ${time} %s key %s %s %s %s: roll-up %s, events %s`)}, account_id, ${sql.ref(time)}, key_id, sku,
      line_type, currency, coalesce(r.amount_nano::text, 'none'), coalesce(c.amount_nano::text, 'none'))
      || case when r.amount_nano = c.amount_nano then format(' with %s requests and %s units, events with %s and %s',
        r.requests, r.units, c.requests, c.units) else '' end
    from (${rows}) r
    full join (select ${key}, ${totals} from ${cells} group by ${key}) c using (${key})
    where (${refs(measures, 'r')}) is distinct from (${refs(measures, 'c')})`
}

/** Checks that the roll-ups `daily` and `hourly` equal `cells` and `hour_cells`. */
export const ROLL_UP_CHECKS: readonly [CheckId, RawBuilder<unknown>][] = [
  ['I15', unlikeCells(DAYS, sql`select * from daily`)],
  ['I15', unlikeCells(HOURS, sql`select * from hourly`)],
]

/** The cells of days whose hours are kept; hours may be dropped earlier than events. */
export const HOUR_CELLS = sql`select c.* from cells c where c.day >= ${FIRST_MONTH_OF_HOURS}
  or (c.account_id, c.day) in (select h.account_id, (h.hour at time zone 'UTC')::date from hourly h)`
