import { hoursOf, ROLL_DAYS, ROLL_HOURS } from './usage-cells.ts'

/**
 * Ends the holds of a batch whose balances are locked: each becomes one charge of its true cost and a release of the
 * rest, with its ledger transfer, its usage event, the key's period and the roll-ups. One statement does all of it; for
 * small batches its cost is the number of nodes in its plan, so it has as few as possible. Items without a hold are
 * left to `settle_one_hold`.
 */
export const SETTLE_HOLDS = `create or replace function settle_holds(items settlement[], busy uuid[], instant timestamptz)
returns table (ordinal integer, outcome text, charged_nano bigint, balance_after_nano bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  ended integer[];
  charges bigint[];
  balances_after bigint[];
  accounts uuid[];
  days date[];
begin
  with ended as (
    delete from holds h using unnest(items) with ordinality i
    where h.account_id = i.account_id and h.request_id = i.request_id and i.account_id <> all (busy)
    returning i.ordinality::integer as ordinal, h.account_id, h.request_id, h.key_id, h.currency, h.amount_nano, h.day,
      h.admitted_at, date_trunc('hour', h.admitted_at, 'UTC') as hour, extract(minute from h.admitted_at)::integer as minute,
      least(i.charge_nano, h.amount_nano) as charge_nano, i.transfer_id, i.sku, i.model_name, i.model_type, i.unit_type,
      i.lines, i.priced, i.outcome, i.estimated, i.upstream_id, i.retries, i.duration_ms
  ), chained as (
    select e.*,
      (b.balance_nano - sum(e.charge_nano) over running)::bigint as balance_after_nano,
      (b.held_nano - sum(e.amount_nano) over running)::bigint as held_after_nano,
      b.sequence + count(*) filter (where e.charge_nano > 0) over running as sequence,
      lead(false, 1, true) over running as is_last
    from ended e join balances b using (account_id, currency)
    window running as (partition by e.account_id, e.currency order by e.ordinal)
  ), moved as (
    update balances b set balance_nano = c.balance_after_nano, held_nano = c.held_after_nano, sequence = c.sequence
    from chained c where c.is_last and b.account_id = c.account_id and b.currency = c.currency
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
    from chained where sku is not null
  ), spent as (
    -- Admissions start a key's day and month, so a hold is never of a later one; earlier ones have ended.
    update key_spend s set
      held_nano = s.held_nano - t.amount_nano,
      day_nano = s.day_nano + t.day_nano,
      month_nano = s.month_nano + t.month_nano,
      lifetime_nano = s.lifetime_nano + t.charge_nano
    from (
      select c.account_id, c.key_id, c.currency, sum(c.amount_nano) as amount_nano, sum(c.charge_nano) as charge_nano,
        sum(case when c.day >= k.day then c.charge_nano else 0 end) as day_nano,
        sum(case when c.day >= k.month then c.charge_nano else 0 end) as month_nano
      from chained c join key_spend k using (account_id, key_id, currency)
      group by 1, 2, 3
    ) t
    where s.account_id = t.account_id and s.key_id = t.key_id and s.currency = t.currency
  ), hours as materialized (${hoursOf('chained')}
  ), rolled_days as (
    ${ROLL_DAYS}
  ), rolled_hours as (
    ${ROLL_HOURS}
  )
  select array_agg(c.ordinal), array_agg(c.charge_nano), array_agg(c.balance_after_nano),
    array_agg(c.account_id) filter (where c.sku is not null), array_agg(c.day) filter (where c.sku is not null)
    into ended, charges, balances_after, accounts, days
  from chained c;
  return query select r.ordinal, 'settled', r.charged_nano, r.balance_after_nano
    from unnest(ended, charges, balances_after) r(ordinal, charged_nano, balance_after_nano);

  -- Days that are closed, or being closed, are reopened.
  if exists (select from usage_closings c where c.account_id = any (accounts) and c.closing_until > any (days)) then
    update usage_closings c set closing_until = least(c.closing_until, t.day), closed_until = least(c.closed_until, t.day)
    from (select e.account_id, min(e.day) as day from unnest(accounts, days) e(account_id, day) group by 1) t
    where c.account_id = t.account_id and t.day < c.closing_until;
  end if;
  if cardinality(ended) = cardinality(items) then
    return;
  end if;
  for index in 1..cardinality(items) loop
    continue when index = any (ended) or items[index].account_id = any (busy);
    ordinal := index;
    select s.outcome, s.charged_nano, s.balance_after_nano into outcome, charged_nano, balance_after_nano
      from settle_one_hold(items[index], instant) s;
    return next;
  end loop;
end
$$`
