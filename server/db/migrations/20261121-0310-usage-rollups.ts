import { type Kysely, sql } from 'kysely'

/** Minutes of the hour at which an hour's roll-up can be cut: every time zone's offset is a multiple of 15 minutes. */
const CUTS = [15, 30, 45] as const
const MEASURES = ['requests', 'line_requests', 'units', 'amount_nano'] as const
const NO_KEY = '00000000-0000-0000-0000-000000000000'

const typeOf = (measure: string) => (measure === 'units' ? 'numeric' : 'bigint')
const cutColumns = MEASURES.flatMap((measure) => CUTS.map((cut) => `${measure}_${cut}`))
const hourMeasures = [...MEASURES, ...cutColumns]
  .map((column) => `${column} ${typeOf(column.replace(/_\d+$/, ''))} not null`)
  .join(', ')

const TABLES = [
  'alter table usage_daily add column line_requests bigint not null default 0',
  // The hours, with what of each fell before its minute 15, 30 and 45, so that days of any time zone can be summed up.
  `create table usage_hourly (
    account_id uuid not null,
    hour timestamptz not null,
    key_id uuid not null,
    sku text not null,
    line_type text not null,
    currency text not null,
    model_type text,
    unit_type text not null,
    ${hourMeasures},
    primary key (account_id, hour, key_id, sku, line_type, currency)
  ) partition by range (hour)`,
  'create table usage_hourly_default partition of usage_hourly default with (fillfactor = 70)',
  // Days of an account before `closed_until` are in the totals below, and what these say of later days is void. Who
  // settles a request of a day before `closing_until` opens it again, so totals are never behind what they are made of.
  `create table usage_closings (
    account_id uuid primary key,
    closing_until date not null,
    closed_until date not null check (closed_until <= closing_until)
  )`,
  // Closed days, weeks and four weeks of an account, by everything, by what was called with and without the kinds of
  // its lines, by who called, and all together. Columns that a grain does not split by are empty.
  `create table usage_daily_totals (
    account_id uuid not null,
    grain text not null check (grain in ('all', 'line', 'model', 'key', 'total')),
    days integer not null check (days in (1, 7, 28)),
    starts date not null,
    key_id uuid not null,
    sku text not null,
    line_type text not null,
    unit_type text not null,
    currency text not null,
    model_name text not null,
    model_type text,
    ${MEASURES.map((measure) => `${measure} ${typeOf(measure)} not null`).join(', ')},
    primary key (account_id, grain, days, starts, key_id, sku, line_type, unit_type, currency)
  )`,
  // For charts of DIEM by day, which pick a few names out of many.
  `create index usage_daily_totals_diem on usage_daily_totals (account_id, grain, sku, key_id, starts) include (amount_nano)
    where days = 1 and currency = 'diem' and grain in ('model', 'key')`,
  `create table usage_hourly_totals (
    account_id uuid not null,
    grain text not null check (grain in ('model', 'key', 'total')),
    hour timestamptz not null,
    key_id uuid not null,
    sku text not null,
    unit_type text not null,
    currency text not null,
    model_type text,
    ${hourMeasures},
    primary key (account_id, grain, hour, key_id, sku, unit_type, currency)
  ) partition by range (hour)`,
  'create table usage_hourly_totals_default partition of usage_hourly_totals default',
  // What usage events that are no longer kept had charged: with them the events still add up to the ledger.
  `create table usage_expired (
    account_id uuid not null,
    key_id uuid not null,
    currency text not null,
    charge_nano bigint not null,
    primary key (account_id, key_id, currency)
  )`,
]

/**
 * What a set of events adds to the roll-ups, per quarter of an hour; an event has one line per type and is counted with
 * its first. Few rows come out of many events, so the roll-ups below add up little.
 */
const cellsOf = (events: string) => `
  select e.account_id, e.day, date_trunc('hour', e.admitted_at, 'UTC') as hour,
    (extract(minute from e.admitted_at)::int / 15) as quarter, coalesce(e.key_id, '${NO_KEY}') as key_id,
    e.sku, l.type, e.unit_type, e.currency, max(e.model_name) as model_name, max(e.model_type) as model_type,
    count(*) filter (where l.ordinality = 1) as requests, count(*) as line_requests,
    sum(l.units) as units, sum(l.amount)::bigint as amount_nano
  from ${events} e
  cross join lateral rows from (json_populate_recordset(null::usage_line, e.lines)) with ordinality l
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

/** As before, but usage is also rolled up by hour, and a request of a closed day opens it again. */
const SETTLE_HOLDS = `create or replace function settle_holds(items json)
returns table (ordinal bigint, outcome text, charged_nano bigint, balance_after_nano bigint)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  of_days text;
  settled_ids uuid[];
  settled_charges bigint[];
begin
  perform 1 from balances b
    where b.account_id in (select (item ->> 'account_id')::uuid from json_array_elements(items) item)
    order by b.account_id, b.currency for update;

  -- With the days written out the planner opens their partitions alone; a plan for any day would open hundreds each time.
  select string_agg(distinct quote_literal((item ->> 'day')::date), ',') into of_days from json_array_elements(items) item;
  execute format('select array_agg(u.request_id), array_agg(u.charge_nano)
    from json_to_recordset($1) i(account_id uuid, day date, request_id uuid)
    join usage_events u on u.account_id = i.account_id and u.day = i.day and u.request_id = i.request_id
    where u.day in (%s)', of_days) into settled_ids, settled_charges using items;

  return query
  with item as materialized (
    select i.*, settled_charges[array_position(settled_ids, i.request_id)] as charged_before_nano
    from rows from (json_populate_recordset(null::settlement, items)) with ordinality i
  ), ended as (
    delete from holds h using item i where h.account_id = i.account_id and h.request_id = i.request_id
    returning i.ordinality, h.account_id, h.request_id, h.key_id, h.currency, h.amount_nano, h.day, h.admitted_at,
      case when i.charged_before_nano is null then least(i.charge_nano, h.amount_nano) else 0 end as charge_nano,
      case when i.charged_before_nano is null then i.sku end as sku,
      i.charged_before_nano, i.transfer_id, i.model_name, i.model_type, i.unit_type,
      i.lines, i.outcome, i.estimated, i.upstream_id, i.retries, i.duration_ms, i.settled_at
  ), chained as (
    select e.*,
      b.balance_nano - sum(e.charge_nano) over running as balance_after_nano,
      b.sequence + count(*) filter (where e.charge_nano > 0) over running as sequence
    from ended e join balances b using (account_id, currency)
    window running as (partition by e.account_id, e.currency order by e.ordinality)
  ), moved as (
    update balances b set balance_nano = b.balance_nano - t.charge_nano, held_nano = b.held_nano - t.amount_nano,
      sequence = b.sequence + t.charges
    from (
      select account_id, currency, sum(charge_nano) as charge_nano, sum(amount_nano) as amount_nano,
        count(*) filter (where charge_nano > 0) as charges
      from ended group by 1, 2
    ) t
    where b.account_id = t.account_id and b.currency = t.currency
  ), posted as (
    insert into ledger_transfers (account_id, currency, sequence, transfer_id, kind, debit_account, credit_account,
      amount_nano, balance_after_nano, request_id, created_at)
    select account_id, currency, sequence, transfer_id, 'charge', 'customer', 'platform:revenue',
      charge_nano, balance_after_nano, request_id, settled_at
    from chained where charge_nano > 0
  ), used as (
    insert into usage_events (account_id, day, request_id, key_id, currency, sku, model_name, model_type, unit_type, lines,
      charge_nano, hold_nano, outcome, estimated, upstream_id, retries, duration_ms, admitted_at, settled_at)
    select account_id, day, request_id, key_id, currency, sku, model_name, model_type, unit_type, lines,
      charge_nano, amount_nano, outcome, estimated, upstream_id, retries, duration_ms, admitted_at, settled_at
    from ended where sku is not null
  ), spent as (
    update key_spend s set
      held_nano = s.held_nano - t.amount_nano,
      day = greatest(s.day, t.day),
      day_nano = case when t.day > s.day then t.day_nano when t.day = s.day then s.day_nano + t.day_nano else s.day_nano end,
      month = greatest(s.month, t.month),
      month_nano = case when t.month > s.month then t.month_nano when t.month = s.month then s.month_nano + t.month_nano else s.month_nano end,
      lifetime_nano = s.lifetime_nano + t.charge_nano
    from (
      select account_id, key_id, currency, sum(amount_nano) as amount_nano, sum(charge_nano) as charge_nano,
        max(last_day) as day, sum(charge_nano) filter (where day = last_day) as day_nano,
        max(last_month) as month, sum(charge_nano) filter (where date_trunc('month', day)::date = last_month) as month_nano
      from (
        select e.*, max(e.day) over by_key as last_day, date_trunc('month', max(e.day) over by_key)::date as last_month
        from ended e where e.key_id is not null
        window by_key as (partition by e.account_id, e.key_id, e.currency)
      ) e
      group by 1, 2, 3
    ) t
    where s.account_id = t.account_id and s.key_id = t.key_id and s.currency = t.currency
  ), cells as materialized (${cellsOf('ended')}
  ), rolled_days as (
    ${ROLL_DAYS}
  ), rolled_hours as (
    ${ROLL_HOURS}
  ), reopened as (
    update usage_closings c set closing_until = least(c.closing_until, t.day), closed_until = least(c.closed_until, t.day)
    from (select account_id, min(day) as day from cells group by 1) t
    where c.account_id = t.account_id and t.day < c.closing_until
  )
  select c.ordinality, case when c.charged_before_nano is null then 'settled' else 'settled_before' end,
    coalesce(c.charged_before_nano, c.charge_nano), c.balance_after_nano::bigint
  from chained c
  union all
  select i.ordinality, case when i.charged_before_nano is null then 'lost' else 'settled_before' end,
    coalesce(i.charged_before_nano, 0), b.balance_nano
  from item i
  left join balances b on b.account_id = i.account_id and b.currency = i.currency
  where i.ordinality not in (select e.ordinality from ended e);
end
$$`

/** Days stand already and lack only the count of requests per line; everything else is made from the events. */
const BACK_FILL = [
  `with cells as (${cellsOf('usage_events')})
  update usage_daily d set line_requests = t.line_requests
  from (select account_id, day, key_id, sku, type, currency, sum(line_requests) as line_requests from cells group by 1, 2, 3, 4, 5, 6) t
  where (d.account_id, d.day, d.key_id, d.sku, d.line_type, d.currency)
    = (t.account_id, t.day, t.key_id, t.sku, t.type, t.currency)`,
  `with cells as (${cellsOf('usage_events')}) ${ROLL_HOURS}`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...TABLES, SETTLE_HOLDS, ...BACK_FILL]) await sql.raw(statement).execute(db)
}
