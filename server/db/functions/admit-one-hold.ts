/**
 * Places one hold, or returns why not: DIEM first, then USD, each needing the balance and the key's limit to cover it. A
 * hold that exists was placed by an attempt whose response was lost, and is admitted again without a second one. A late
 * charge brings the instant of its original request; if the usage of that request exists, it returns `settled_before`.
 */
export const ADMIT_ONE_HOLD = `create or replace function admit_one_hold(item admission, by_process uuid, instant timestamptz,
  out outcome text, out currency text, out admitted_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  today date := (coalesce(item.admitted_at, instant) at time zone 'UTC')::date;
  hold_day date;
  settled boolean;
  key api_keys;
  spend key_spend;
  key_limit numeric;
  balance balances;
begin
  select h.currency, h.admitted_at into currency, admitted_at from holds h
    where h.account_id = item.account_id and h.request_id = item.request_id;
  if found then
    outcome := 'admitted';
    return;
  end if;
  if item.admitted_at is not null then
    execute format('select exists (select from usage_events u
      where u.account_id = $1 and u.request_id = $2 and u.day = %L)', today)
      into settled using item.account_id, item.request_id;
    if settled then
      outcome := 'settled_before';
      return;
    end if;
  end if;
  if item.key_id is not null then
    select * into key from api_keys k where k.account_id = item.account_id and k.key_id = item.key_id;
    if key.key_id is null or key.revoked_at is not null or key.expires_at <= instant then
      outcome := 'key_inactive';
      return;
    end if;
  end if;
  outcome := 'insufficient_balance';
  for balance in
    select * from balances b where b.account_id = item.account_id order by b.currency = 'diem' desc
  loop
    continue when balance.balance_nano - balance.held_nano < item.amount_nano;
    select * into spend from key_spend s
      where s.account_id = item.account_id and s.key_id = item.key_id and s.currency = balance.currency;
    key_limit := case balance.currency when 'diem' then key.limit_diem_nano else key.limit_usd_nano end;
    if key_spent_nano(spend, key.limit_period, today) + item.amount_nano > key_limit then
      outcome := 'key_limit_' || balance.currency;
      continue;
    end if;
    outcome := 'admitted';
    currency := balance.currency;
    -- A key's day never goes back, so that no clock that is put back can lift its limit.
    hold_day := case when item.admitted_at is null then greatest(spend.day, today) else today end;
    admitted_at := coalesce(item.admitted_at, greatest(instant, hold_day::timestamp at time zone 'UTC'));
    insert into holds (account_id, request_id, key_id, currency, amount_nano, day, admitted_at, process_id)
      values (item.account_id, item.request_id, item.key_id, currency, item.amount_nano, hold_day, admitted_at, by_process);
    update balances b set held_nano = b.held_nano + item.amount_nano
      where b.account_id = item.account_id and b.currency = balance.currency;
    if item.key_id is not null then
      insert into key_spend as s (account_id, key_id, currency, held_nano, day, month)
        values (item.account_id, item.key_id, currency, item.amount_nano, hold_day, date_trunc('month', hold_day)::date)
        on conflict (account_id, key_id, currency) do update set held_nano = s.held_nano + excluded.held_nano,
          day = greatest(s.day, excluded.day), day_nano = case when excluded.day > s.day then 0 else s.day_nano end,
          month = greatest(s.month, excluded.month), month_nano = case when excluded.month > s.month then 0 else s.month_nano end;
    end if;
    return;
  end loop;
end
$$`
