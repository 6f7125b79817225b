/**
 * Decides the admissions of a batch whose balances are locked, exactly and in arrival order. An account whose whole
 * batch is covered is admitted in one set-based statement; any other is decided item by item.
 */
export const ADMIT_HOLDS = `create or replace function admit_holds(
  items admission[], busy uuid[], by_process uuid, instant timestamptz)
returns table (ordinal integer, outcome text, currency text, usd_nano bigint, diem_nano bigint, admitted_at timestamptz)
language plpgsql
as $$
#variable_conflict use_column
declare
  today date := (instant at time zone 'UTC')::date;
  one record;
begin
  for one in
    with judged as materialized (
      -- One currency for the account's whole batch; null where some items may be paid in DIEM and others not, and for
      -- repeats and late charges, which are decided one by one.
      select i.ordinality, i.account_id, i.request_id, i.key_id, i.amount_nano, i.admitted_at as late_at,
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
    ), checked as (
      -- A key's day never goes back, so that no clock that is put back can lift its limit.
      select j.*, greatest(s.day, today) as day, bool_or(j.currency is null or j.key_id is not null and (
        k.key_id is null or k.revoked_at is not null or k.expires_at <= instant
        or coalesce(s.held_nano, 0) + j.key_amount_nano + case k.limit_period
            when 'LIFETIME' then coalesce(s.lifetime_nano, 0)
            when 'MONTH' then case when s.month >= date_trunc('month', today)::date then s.month_nano else 0 end
            else case when s.day >= today then s.day_nano else 0 end
          end > case j.currency when 'diem' then k.limit_diem_nano else k.limit_usd_nano end
      )) over (partition by j.account_id) as tight
      from judged j
      left join api_keys k on k.account_id = j.account_id and k.key_id = j.key_id
      left join key_spend s on s.account_id = j.account_id and s.key_id = j.key_id and s.currency = j.currency
    ), approved as (
      select c.*, greatest(instant, c.day::timestamp at time zone 'UTC') as admitted_at
      from checked c where c.tight is not true
    ), placed as (
      insert into holds (account_id, request_id, key_id, currency, amount_nano, day, admitted_at, process_id)
      select account_id, request_id, key_id, currency, amount_nano, day, admitted_at, by_process from approved
    ), moved as (
      update balances b set held_nano = b.held_nano + a.amount_nano
      from (select account_id, currency, sum(amount_nano) as amount_nano from approved group by 1, 2) a
      where b.account_id = a.account_id and b.currency = a.currency
    ), spent as (
      insert into key_spend as s (account_id, key_id, currency, held_nano, day, month)
      select account_id, key_id, currency, sum(amount_nano), max(day), date_trunc('month', max(day))::date
      from approved where key_id is not null group by 1, 2, 3
      on conflict (account_id, key_id, currency) do update set held_nano = s.held_nano + excluded.held_nano,
        day = excluded.day, day_nano = case when excluded.day > s.day then 0 else s.day_nano end,
        month = excluded.month, month_nano = case when excluded.month > s.month then 0 else s.month_nano end
    )
    select c.ordinality, c.account_id, c.request_id, c.key_id, c.amount_nano, c.late_at, c.usd_nano, c.diem_nano,
      case when c.tight is not true then c.currency end as currency,
      greatest(instant, c.day::timestamp at time zone 'UTC') as admitted_at
    from checked c order by c.ordinality
  loop
    ordinal := one.ordinality;
    usd_nano := one.usd_nano;
    diem_nano := one.diem_nano;
    outcome := 'admitted';
    currency := one.currency;
    admitted_at := one.admitted_at;
    if currency is null then
      select d.outcome, d.currency, d.admitted_at into outcome, currency, admitted_at
        from admit_one_hold(row(one.account_id, one.request_id, one.key_id, one.amount_nano, one.late_at)::admission,
          by_process, instant) d;
    end if;
    return next;
  end loop;
end
$$`
