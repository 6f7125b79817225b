import { cellsOf, ROLL_DAYS, ROLL_HOURS } from './usage-cells.ts'

/**
 * Ends a batch of holds: each becomes one charge of its true cost and a release of the rest, with its ledger transfer,
 * its usage event, the key's period and the daily roll-up, all in this one transaction. A request whose usage stands
 * for the day is never charged again: its settlement answers `settled_before`, and a second hold under its id, made to
 * finish the work of a dead process, is released. A hold that a sweeper released answers `lost`.
 */
export const SETTLE_HOLDS = `create or replace function settle_holds(items json)
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
