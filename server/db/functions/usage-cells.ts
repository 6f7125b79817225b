/** Minutes of the hour at which an hour's roll-up can be cut: every time zone's offset is a multiple of 15 minutes. */
const CUTS = [15, 30, 45] as const
export const MEASURES = ['requests', 'line_requests', 'units', 'amount_nano'] as const
const NO_KEY = '00000000-0000-0000-0000-000000000000'

export const measureType = (measure: string) => (measure === 'units' ? 'numeric' : 'bigint')
const cutColumns = MEASURES.flatMap((measure) => CUTS.map((cut) => `${measure}_${cut}`))
/** The measures of an hour, and of its part before each cut. */
export const HOUR_MEASURES = [...MEASURES, ...cutColumns]
export const HOUR_MEASURE_COLUMNS = HOUR_MEASURES.map(
  (column) => `${column} ${measureType(column.replace(/_\d+$/, ''))} not null`,
).join(', ')

/**
 * What a set of events adds to the roll-ups, per quarter of an hour; an event has one line per type and is counted with
 * its first. Few rows come out of many events, so the roll-ups below add up little.
 */
export const cellsOf = (events: string) => `
  select e.account_id, e.day, date_trunc('hour', e.admitted_at, 'UTC') as hour,
    (extract(minute from e.admitted_at)::int / 15) as quarter, coalesce(e.key_id, '${NO_KEY}') as key_id,
    e.sku, l.type, e.unit_type, e.currency, max(e.model_name) as model_name, max(e.model_type) as model_type,
    count(*) filter (where l.ordinality = 1) as requests, count(*) as line_requests,
    sum(l.units) as units, sum(l.amount)::bigint as amount_nano
  from ${events} e
  cross join lateral unnest(e.priced) with ordinality l
  where e.sku is not null
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9`

const addUp = (alias: string, columns: readonly string[]) =>
  columns.map((column) => `${column} = ${alias}.${column} + excluded.${column}`).join(', ')

const SUMS = MEASURES.map((measure) => `sum(${measure})`)

/** From rows named `cells`, as `cellsOf` selects them. */
export const ROLL_DAYS = `insert into usage_daily as d (account_id, day, key_id, sku, line_type, currency, model_name, model_type, unit_type,
    requests, line_requests, units, amount_nano)
  select account_id, day, key_id, sku, type, currency, max(model_name), max(model_type), max(unit_type),
    ${SUMS.join(', ')}
  from cells group by 1, 2, 3, 4, 5, 6
  on conflict (account_id, day, key_id, sku, line_type, currency) do update set ${addUp('d', MEASURES)}`

const cutSums = SUMS.flatMap((sum) => CUTS.map((cut) => `coalesce(${sum} filter (where quarter < ${cut / 15}), 0)`))

export const ROLL_HOURS = `insert into usage_hourly as h (account_id, hour, key_id, sku, line_type, currency,
    model_type, unit_type, ${[...MEASURES, ...cutColumns].join(', ')})
  select account_id, hour, key_id, sku, type, currency, max(model_type), max(unit_type), ${[...SUMS, ...cutSums].join(', ')}
  from cells group by 1, 2, 3, 4, 5, 6
  on conflict (account_id, hour, key_id, sku, line_type, currency) do update set ${addUp('h', [...MEASURES, ...cutColumns])}`
