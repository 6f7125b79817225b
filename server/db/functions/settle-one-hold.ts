import { hoursOf, ROLL_DAYS, ROLL_HOURS } from './usage-cells.ts'

/**
 * Ends one hold whose balance is locked, as `settle_holds` does for a batch. If the hold is missing, it returns
 * `settled_before` when the usage of the request exists; otherwise a sweeper released the hold, and it returns `lost`.
 */
export const SETTLE_ONE_HOLD = `create or replace function settle_one_hold(item settlement, instant timestamptz,
  out outcome text, out charged_nano bigint, out balance_after_nano bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  hold holds;
  transfer_sequence bigint;
begin
  delete from holds h where h.account_id = item.account_id and h.request_id = item.request_id returning * into hold;
  if hold.request_id is null then
    -- With a literal day the planner opens one partition; a plan for any day would open hundreds.
    execute format('select u.charge_nano from usage_events u
      where u.account_id = $1 and u.request_id = $2 and u.day = %L', item.day)
      into charged_nano using item.account_id, item.request_id;
    outcome := case when charged_nano is null then 'lost' else 'settled_before' end;
    charged_nano := coalesce(charged_nano, 0);
    select b.balance_nano into balance_after_nano from balances b
      where b.account_id = item.account_id and b.currency = item.currency;
    return;
  end if;
  outcome := 'settled';
  charged_nano := least(item.charge_nano, hold.amount_nano);
  update balances b set balance_nano = b.balance_nano - charged_nano, held_nano = b.held_nano - hold.amount_nano,
    sequence = b.sequence + case when charged_nano > 0 then 1 else 0 end
    where b.account_id = hold.account_id and b.currency = hold.currency
    returning b.balance_nano, b.sequence into balance_after_nano, transfer_sequence;
  if charged_nano > 0 then
    insert into ledger_transfers (account_id, currency, sequence, transfer_id, kind, debit_account, credit_account,
      amount_nano, balance_after_nano, request_id, created_at)
    values (hold.account_id, hold.currency, transfer_sequence, item.transfer_id, 'charge', 'customer', 'platform:revenue',
      charged_nano, balance_after_nano, hold.request_id, instant);
  end if;
  -- Admissions start a key's day and month, so a hold is never of a later one; earlier ones have ended.
  update key_spend s set
    held_nano = s.held_nano - hold.amount_nano,
    day_nano = s.day_nano + case when hold.day >= s.day then charged_nano else 0 end,
    month_nano = s.month_nano + case when hold.day >= s.month then charged_nano else 0 end,
    lifetime_nano = s.lifetime_nano + charged_nano
    where s.account_id = hold.account_id and s.key_id = hold.key_id and s.currency = hold.currency;
  if item.sku is null then
    return;
  end if;
  insert into usage_events (account_id, day, request_id, key_id, currency, sku, model_name, model_type, unit_type, lines,
    charge_nano, hold_nano, outcome, estimated, upstream_id, retries, duration_ms, admitted_at, settled_at)
  values (hold.account_id, hold.day, hold.request_id, hold.key_id, hold.currency, item.sku, item.model_name,
    item.model_type, item.unit_type, item.lines, charged_nano, hold.amount_nano, item.outcome, item.estimated,
    item.upstream_id, item.retries, item.duration_ms, hold.admitted_at, instant);
  with hours as materialized (${hoursOf(`(select hold.account_id, hold.day, date_trunc('hour', hold.admitted_at, 'UTC') as hour,
      extract(minute from hold.admitted_at)::integer as minute, hold.key_id, item.sku, item.priced, item.unit_type,
      hold.currency, item.model_name, item.model_type offset 0)`)}
  ), rolled_days as (
    ${ROLL_DAYS}
  )
  ${ROLL_HOURS};
  update usage_closings c set closing_until = least(c.closing_until, hold.day), closed_until = least(c.closed_until, hold.day)
    where c.account_id = hold.account_id and hold.day < c.closing_until;
end
$$`
