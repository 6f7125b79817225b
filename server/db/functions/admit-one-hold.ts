/**
 * Places one hold, or returns the reason for rejecting it: DIEM first, then USD, and both the balance and the key's
 * limit must cover it. An existing hold was placed by an attempt whose response was lost; it is admitted again without
 * a second hold. A late charge carries the instant of its original request; if the usage of that request exists, it
 * returns `settled_before`. The returned balances are those before the hold.
 */
export const ADMIT_ONE_HOLD = `create or replace function admit_one_hold(item admission, by_process uuid, instant timestamptz,
  out outcome text, out currency text, out usd_nano bigint, out diem_nano bigint, out admitted_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  today date := (coalesce(item.admitted_at, instant) at time zone 'UTC')::date;
  hold_day date;
  settled boolean;
  one record;
begin
  select h.currency, h.admitted_at into currency, admitted_at from holds h
    where h.account_id = item.account_id and h.request_id = item.request_id;
  outcome := case when found then 'admitted' else 'insufficient_balance' end;
  if not found and item.admitted_at is not null then
    execute format('select exists (select from usage_events u
      where u.account_id = $1 and u.request_id = $2 and u.day = %L)', today)
      into settled using item.account_id, item.request_id;
    outcome := case when settled then 'settled_before' else outcome end;
  end if;
  usd_nano := 0;
  diem_nano := 0;
  for one in
    select b.currency, b.balance_nano, b.held_nano, s.day,
      k.key_id is null or k.revoked_at is not null or coalesce(k.expires_at <= instant, false) as key_inactive,
      case b.currency when 'diem' then k.limit_diem_nano else k.limit_usd_nano end as limit_nano,
      coalesce(s.held_nano, 0)::numeric + case k.limit_period
        when 'LIFETIME' then coalesce(s.lifetime_nano, 0)
        when 'MONTH' then case when s.month >= date_trunc('month', today)::date then s.month_nano else 0 end
        else case when s.day >= today then s.day_nano else 0 end
      end as spent_nano
    from balances b
    left join api_keys k on k.account_id = b.account_id and k.key_id = item.key_id
    left join key_spend s on s.account_id = b.account_id and s.key_id = item.key_id and s.currency = b.currency
    -- DIEM before USD.
    where b.account_id = item.account_id order by b.currency
  loop
    usd_nano := case one.currency when 'usd' then one.balance_nano else usd_nano end;
    diem_nano := case one.currency when 'diem' then one.balance_nano else diem_nano end;
    if outcome in ('admitted', 'settled_before', 'key_inactive') then
      continue;
    elsif item.key_id is not null and one.key_inactive then
      outcome := 'key_inactive';
    elsif one.balance_nano - one.held_nano < item.amount_nano then
      continue;
    elsif item.key_id is not null and one.spent_nano + item.amount_nano > one.limit_nano then
      outcome := 'key_limit_' || one.currency;
    else
      outcome := 'admitted';
      currency := one.currency;
      -- A key's day never moves backwards, so a clock that is set back cannot lift its limit.
      hold_day := case when item.admitted_at is null then greatest(one.day, today) else today end;
    end if;
  end loop;
  if hold_day is null then
    return;
  end if;
  admitted_at := coalesce(item.admitted_at, greatest(instant, hold_day::timestamp at time zone 'UTC'));
  insert into holds (account_id, request_id, key_id, currency, amount_nano, day, admitted_at, process_id)
    values (item.account_id, item.request_id, item.key_id, currency, item.amount_nano, hold_day, admitted_at, by_process);
  update balances b set held_nano = b.held_nano + item.amount_nano
    where b.account_id = item.account_id and b.currency = admit_one_hold.currency;
  if item.key_id is not null then
    insert into key_spend as s (account_id, key_id, currency, held_nano, day, month)
      values (item.account_id, item.key_id, currency, item.amount_nano, hold_day, date_trunc('month', hold_day)::date)
      on conflict (account_id, key_id, currency) do update set held_nano = s.held_nano + excluded.held_nano,
        day = greatest(s.day, excluded.day), day_nano = case when excluded.day > s.day then 0 else s.day_nano end,
        month = greatest(s.month, excluded.month), month_nano = case when excluded.month > s.month then 0 else s.month_nano end;
  end if;
end
$$`
