/**
 * Decides the admissions of a batch whose balances are locked, exactly as if one by one in arrival order. If the
 * account's balance covers all its items, their order cannot matter, so the items of each key whose limit covers them
 * are admitted in one statement. All others are decided item by item.
 */
export const ADMIT_HOLDS = `create or replace function admit_holds(
  items admission[], busy uuid[], by_process uuid, instant timestamptz)
returns table (ordinal integer, outcome text, currency text, usd_nano bigint, diem_nano bigint, admitted_at timestamptz)
language plpgsql
as $$
#variable_conflict use_column
declare
  today date := (instant at time zone 'UTC')::date;
  admitted integer[];
  currencies text[];
  usd bigint[];
  diem bigint[];
begin
  with judged as (
    -- One currency for the account's whole batch; null if only some items may be paid in DIEM, and for repeats and late
    -- charges.
    select i.ordinality::integer as ordinal, i.account_id, i.request_id, i.key_id, i.amount_nano,
      u.balance_nano as usd_nano, coalesce(d.balance_nano, 0) as diem_nano,
      case
        when bool_or(h.request_id is not null or i.admitted_at is not null) over of_account then null
        when d.balance_nano - d.held_nano >= sum(i.amount_nano) over of_account then 'diem'
        when d.balance_nano - d.held_nano >= min(i.amount_nano) over of_account then null
        when u.balance_nano - u.held_nano >= sum(i.amount_nano) over of_account then 'usd'
      end as currency,
      sum(i.amount_nano) over (partition by i.account_id, i.key_id) as key_amount_nano
    from unnest(items) with ordinality i
    left join holds h on h.account_id = i.account_id and h.request_id = i.request_id
    left join balances d on d.account_id = i.account_id and d.currency = 'diem'
    left join balances u on u.account_id = i.account_id and u.currency = 'usd'
    where i.account_id <> all (busy)
    window of_account as (partition by i.account_id)
  ), approved as materialized (
    select j.*
    from judged j
    left join api_keys k on k.account_id = j.account_id and k.key_id = j.key_id
    left join key_spend s on s.account_id = j.account_id and s.key_id = j.key_id and s.currency = j.currency
    where j.currency is not null and (j.key_id is null or (
      k.key_id is not null and k.revoked_at is null and (k.expires_at <= instant) is not true
      -- A key's day never moves backwards, so a clock that is set back cannot lift its limit.
      and (s.day > today) is not true
      and (coalesce(s.held_nano, 0) + j.key_amount_nano + case k.limit_period
          when 'LIFETIME' then coalesce(s.lifetime_nano, 0)
          when 'MONTH' then case when s.month >= date_trunc('month', today)::date then s.month_nano else 0 end
          else case when s.day >= today then s.day_nano else 0 end
        end > case j.currency when 'diem' then k.limit_diem_nano else k.limit_usd_nano end) is not true
    ))
  ), placed as (
    insert into holds (account_id, request_id, key_id, currency, amount_nano, day, admitted_at, process_id)
    select account_id, request_id, key_id, currency, amount_nano, today, instant, by_process from approved
  ), moved as (
    update balances b set held_nano = b.held_nano + a.amount_nano
    from (select account_id, currency, sum(amount_nano) as amount_nano from approved group by 1, 2) a
    where b.account_id = a.account_id and b.currency = a.currency
  ), spent as (
    insert into key_spend as s (account_id, key_id, currency, held_nano, day, month)
    select account_id, key_id, currency, sum(amount_nano), today, date_trunc('month', today)::date
    from approved where key_id is not null group by 1, 2, 3
    on conflict (account_id, key_id, currency) do update set held_nano = s.held_nano + excluded.held_nano,
      day = excluded.day, day_nano = case when excluded.day > s.day then 0 else s.day_nano end,
      month = excluded.month, month_nano = case when excluded.month > s.month then 0 else s.month_nano end
  )
  select array_agg(a.ordinal), array_agg(a.currency), array_agg(a.usd_nano), array_agg(a.diem_nano)
    into admitted, currencies, usd, diem
  from approved a;
  return query select r.ordinal, 'admitted', r.currency, r.usd_nano, r.diem_nano, instant
    from unnest(admitted, currencies, usd, diem) r(ordinal, currency, usd_nano, diem_nano);

  if cardinality(admitted) = cardinality(items) then
    return;
  end if;
  for index in 1..cardinality(items) loop
    continue when index = any (admitted) or items[index].account_id = any (busy);
    ordinal := index;
    select a.outcome, a.currency, a.usd_nano, a.diem_nano, a.admitted_at
      into outcome, currency, usd_nano, diem_nano, admitted_at
      from admit_one_hold(items[index], by_process, instant) a;
    return next;
  end loop;
end
$$`
