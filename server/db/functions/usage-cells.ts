/** Minutes at which an hour's roll-up can be split: every time zone's offset is a multiple of 15 minutes. */
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

/** An event has one row per line type and is counted with its first line. */
const LINE_SUMS: Record<(typeof MEASURES)[number], (filter: string) => string> = {
  requests: (filter) => `count(*) filter (where l.ordinality = 1${filter})`,
  line_requests: (filter) => `count(*) filter (where true${filter})`,
  units: (filter) => `coalesce(sum(l.units) filter (where true${filter}), 0)`,
  amount_nano: (filter) => `coalesce(sum(l.amount) filter (where true${filter}), 0)::bigint`,
}

const wholeSums = MEASURES.map((measure) => `${LINE_SUMS[measure]('')} as ${measure}`)
const cutSums = MEASURES.flatMap((measure) =>
  CUTS.map((cut) => `${LINE_SUMS[measure](` and e.minute < ${cut}`)} as ${measure}_${cut}`),
)

/**
 * The amounts that a set of events adds to the hourly roll-ups. Many events become few rows, so the roll-ups below add
 * few.
 */
export const hoursOf = (events: string) => `
  select e.account_id, e.day, e.hour, coalesce(e.key_id, '${NO_KEY}') as key_id, e.sku, l.type, e.currency,
    max(e.model_name) as model_name, max(e.model_type) as model_type, max(e.unit_type) as unit_type,
    ${[...wholeSums, ...cutSums].join(',\n    ')}
  from ${events} e
  cross join lateral unnest(e.priced) with ordinality l
  where e.sku is not null
  group by 1, 2, 3, 4, 5, 6, 7`

const addUp = (alias: string, columns: readonly string[]) =>
  columns.map((column) => `${column} = ${alias}.${column} + excluded.${column}`).join(', ')

/** Takes rows named `hours`, as `hoursOf` selects them. */
export const ROLL_DAYS = `insert into usage_daily as d (account_id, day, key_id, sku, line_type, currency, model_name, model_type, unit_type,
    ${MEASURES.join(', ')})
  select account_id, day, key_id, sku, type, currency, max(model_name), max(model_type), max(unit_type),
    ${MEASURES.map((measure) => `sum(${measure})`).join(', ')}
  from hours group by 1, 2, 3, 4, 5, 6
  on conflict (account_id, day, key_id, sku, line_type, currency) do update set ${addUp('d', MEASURES)}`

export const ROLL_HOURS = `insert into usage_hourly as h (account_id, hour, key_id, sku, line_type, currency,
    model_type, unit_type, ${HOUR_MEASURES.join(', ')})
  select account_id, hour, key_id, sku, type, currency, model_type, unit_type, ${HOUR_MEASURES.join(', ')}
  from hours
  on conflict (account_id, hour, key_id, sku, line_type, currency) do update set ${addUp('h', HOUR_MEASURES)}`
