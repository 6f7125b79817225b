import { FIRST_MONDAY } from '../../domain/usage/closing/usage-roll-ups.ts'
import { HOUR_MEASURES } from './usage-cells.ts'

const NO_KEY = '00000000-0000-0000-0000-000000000000'
const TOTALS = `usage_daily_totals (account_id, grain, days, starts, key_id, sku, line_type, unit_type, currency,
  model_name, model_type, requests, line_requests, units, amount_nano)`
const SUMS = 'sum(p.requests), sum(p.line_requests), sum(p.units), sum(p.amount_nano)'
/** The days that are being closed, a row for each account. */
const CLOSING = 'unnest(accounts, from_days, until_days) c(account_id, from_day, until_day)'

function toMonday(day: string, days: number): string {
  return `${day} - (${day} - date '${FIRST_MONDAY}') % ${days}`
}
/** Accounts for which a span of this length ends with the days that are being closed; on most days there are none. */
function closingSpans(days: number): string {
  return `(
  select c.account_id, c.from_day, c.until_day from ${CLOSING}
  where ${toMonday(`(c.until_day - ${days})`, days)} > c.from_day - ${days}
) c`
}

/**
 * Sums up the spans that end with the days that are being closed, from rows `p` of shorter spans. `offset 0` keeps each
 * account's rows in a separate subquery, so no plan starts with the rows of all accounts.
 */
function sumUpSpans(days: number, grain: string, parts: string): string {
  return `
  insert into ${TOTALS}
  select p.account_id, ${grain}, ${days}, ${toMonday('p.starts', days)}, p.key_id, p.sku, p.line_type, p.unit_type, p.currency,
    max(p.model_name), max(p.model_type), ${SUMS}
  from ${closingSpans(days)} cross join lateral (${parts} offset 0) p
  where ${toMonday('p.starts', days)} > c.from_day - ${days} and ${toMonday('p.starts', days)} <= c.until_day - ${days}
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9;`
}

const weeksOfDays = (grain: string) => sumUpSpans(7, `'${grain}'`, totalsOf(1, grain, 7))
const fourWeeksOfWeeks = (grain: string) => sumUpSpans(28, `'${grain}'`, totalsOf(7, grain, 28))
const weeksOfRollUps = sumUpSpans(
  7,
  "'all'",
  `select *, d.day as starts from usage_daily d
    where d.account_id = c.account_id and d.day > c.from_day - 7 and d.day < c.until_day`,
)

/** Totals of spans that may be part of a longer one. */
function totalsOf(days: number, grain: string, ofDays: number): string {
  return `select * from usage_daily_totals t
    where t.account_id = c.account_id and t.grain = '${grain}' and t.days = ${days}
      and t.starts > c.from_day - ${ofDays} and t.starts < c.until_day`
}

const GRAINS = ['line', 'model', 'key', 'total']
const hourSums = HOUR_MEASURES.map((measure) => `sum(h.${measure})`).join(', ')

/**
 * Sums up the days that are being closed, for all of these accounts at once, and returns the accounts. It skips
 * accounts that another process is closing. Each account's row stays locked to the end, so a late settlement waits for
 * it and then reopens the day.
 */
export const FINISH_CLOSING = `create or replace function finish_closing(of_accounts uuid[]) returns setof uuid
language plpgsql set lock_timeout = '2s'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  accounts uuid[];
  from_days date[];
  until_days date[];
  first_day date;
  first_hour timestamptz;
  until_hour timestamptz;
begin
  select array_agg(c.account_id), array_agg(c.closed_until), array_agg(c.closing_until),
      min(c.closed_until), min(c.closed_until)::timestamp at time zone 'UTC', max(c.closing_until)::timestamp at time zone 'UTC'
    into accounts, from_days, until_days, first_day, first_hour, until_hour
    from (
      select * from usage_closings c where c.account_id = any(of_accounts) and c.closed_until < c.closing_until
      order by c.account_id for update skip locked
    ) c;
  if accounts is null then
    return;
  end if;

  -- Discard the totals of reopened days.
  delete from usage_daily_totals t using ${CLOSING}
    where t.account_id = c.account_id and t.starts > c.from_day - t.days
      and t.account_id = any(accounts) and t.grain = any('{all,line,model,key,total}') and t.days = any('{1,7,28}')
      and t.starts > first_day - 28;
  delete from usage_hourly_totals t using ${CLOSING}
    where t.account_id = c.account_id and t.hour >= c.from_day::timestamp at time zone 'UTC'
      and t.account_id = any(accounts) and t.grain = any('{model,key,total}') and t.hour >= first_hour;

  insert into ${TOTALS}
    select p.account_id,
      case when grouping(p.line_type) = 0 then 'line' when grouping(p.sku) = 0 then 'model'
        when grouping(p.key_id) = 0 then 'key' else 'total' end,
      1, p.day, coalesce(p.key_id, '${NO_KEY}'), coalesce(p.sku, ''), coalesce(p.line_type, ''), p.unit_type, p.currency,
      case grouping(p.sku) when 0 then max(p.model_name) else '' end,
      case grouping(p.sku) when 0 then max(p.model_type) end, ${SUMS}
    from ${CLOSING} cross join lateral (
      select * from usage_daily d where d.account_id = c.account_id and d.day >= c.from_day and d.day < c.until_day offset 0
    ) p
    group by p.account_id, p.day, p.unit_type, p.currency, grouping sets ((p.sku, p.line_type), (p.sku), (p.key_id), ());
  ${weeksOfRollUps}
  ${GRAINS.map(weeksOfDays).join('\n  ')}
  ${['all', ...GRAINS].map(fourWeeksOfWeeks).join('\n  ')}

  insert into usage_hourly_totals (account_id, grain, hour, key_id, sku, unit_type, currency, model_type, ${HOUR_MEASURES.join(', ')})
    select h.account_id,
      case when grouping(h.sku) = 0 then 'model' when grouping(h.key_id) = 0 then 'key' else 'total' end,
      h.hour, coalesce(h.key_id, '${NO_KEY}'), coalesce(h.sku, ''), h.unit_type, h.currency,
      case grouping(h.sku) when 0 then max(h.model_type) end, ${hourSums}
    from ${CLOSING} cross join lateral (
      select * from usage_hourly h where h.account_id = c.account_id and h.hour >= c.from_day::timestamp at time zone 'UTC'
        and h.hour < c.until_day::timestamp at time zone 'UTC' and h.hour >= first_hour and h.hour < until_hour offset 0
    ) h
    group by h.account_id, h.hour, h.unit_type, h.currency, grouping sets ((h.sku), (h.key_id), ());

  update usage_closings c set closed_until = closing_until where c.account_id = any(accounts);
  return query select unnest(accounts);
end
$$`
