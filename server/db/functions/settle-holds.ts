import { cellsOf, ROLL_DAYS, ROLL_HOURS } from './usage-cells.ts'

/**
 * Ends the holds of a batch whose balances are locked: each becomes one charge of its true cost and a release of the
 * rest, with its ledger transfer, its usage event, the key's period and the daily roll-up. A settlement whose hold is
 * gone returns `settled_before` if the usage of its request exists; otherwise a sweeper released the hold, and it
 * returns `lost`.
 */
export const SETTLE_HOLDS = `create or replace function settle_holds(items settlement[], busy uuid[], instant timestamptz)
returns table (ordinal integer, outcome text, charged_nano bigint, balance_after_nano bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  one record;
begin
  for one in
    with item as materialized (
      select i.* from unnest(items) with ordinality i where i.account_id <> all (busy)
    ), ended as (
      delete from holds h using item i where h.account_id = i.account_id and h.request_id = i.request_id
      returning i.ordinality, h.account_id, h.request_id, h.key_id, h.currency, h.amount_nano, h.day, h.admitted_at,
        least(i.charge_nano, h.amount_nano) as charge_nano, i.transfer_id, i.sku, i.model_name, i.model_type, i.unit_type,
        i.lines, i.priced, i.outcome, i.estimated, i.upstream_id, i.retries, i.duration_ms
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
        charge_nano, balance_after_nano, request_id, instant
      from chained where charge_nano > 0
    ), used as (
      insert into usage_events (account_id, day, request_id, key_id, currency, sku, model_name, model_type, unit_type, lines,
        charge_nano, hold_nano, outcome, estimated, upstream_id, retries, duration_ms, admitted_at, settled_at)
      select account_id, day, request_id, key_id, currency, sku, model_name, model_type, unit_type, lines,
        charge_nano, amount_nano, outcome, estimated, upstream_id, retries, duration_ms, admitted_at, instant
      from ended where sku is not null
    ), spent as (
      -- Admissions begin a key's day and month, so a hold is never of a later one; earlier ones are over.
      update key_spend s set
        held_nano = s.held_nano - t.amount_nano,
        day_nano = s.day_nano + t.day_nano,
        month_nano = s.month_nano + t.month_nano,
        lifetime_nano = s.lifetime_nano + t.charge_nano
      from (
        select e.account_id, e.key_id, e.currency, sum(e.amount_nano) as amount_nano, sum(e.charge_nano) as charge_nano,
          sum(case when e.day >= k.day then e.charge_nano else 0 end) as day_nano,
          sum(case when e.day >= k.month then e.charge_nano else 0 end) as month_nano
        from ended e join key_spend k using (account_id, key_id, currency)
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
    select c.ordinality, 'settled' as outcome, c.account_id, c.request_id, c.day, c.currency,
      c.charge_nano, c.balance_after_nano::bigint as balance_after_nano
    from chained c
    union all
    select i.ordinality, 'lost', i.account_id, i.request_id, i.day, i.currency, 0, null
    from item i
    where i.ordinality not in (select e.ordinality from ended e)
  loop
    ordinal := one.ordinality;
    outcome := one.outcome;
    charged_nano := one.charge_nano;
    balance_after_nano := one.balance_after_nano;
    if outcome = 'lost' then
      -- With the day written out the planner opens its partition alone; a plan for any day would open hundreds.
      execute format('select u.charge_nano from usage_events u
        where u.account_id = $1 and u.request_id = $2 and u.day = %L', one.day)
        into charged_nano using one.account_id, one.request_id;
      outcome := case when charged_nano is null then 'lost' else 'settled_before' end;
      charged_nano := coalesce(charged_nano, 0);
      select b.balance_nano into balance_after_nano from balances b
        where b.account_id = one.account_id and b.currency = one.currency;
    end if;
    return next;
  end loop;
end
$$`
