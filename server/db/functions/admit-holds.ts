/**
 * Decides a batch of admissions exactly, in arrival order. An account whose whole batch is covered is admitted in one
 * set-based statement; any other is decided item by item. Balance rows are locked first and in key order, here and in
 * every function that moves money, so that processes cannot deadlock. An item whose hold stands already was admitted by
 * an attempt whose answer got lost: it is admitted again without a second hold. The settings keep every table access a
 * look-up by primary key: a plan made while the tables were empty would else scan them when they are large.
 */
export const ADMIT_HOLDS = `create or replace function admit_holds(items json)
returns table (ordinal bigint, outcome text, currency text, usd_nano bigint, diem_nano bigint)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  rest record;
  outcomes text[] := '{}';
begin
  perform 1 from balances b
    where b.account_id in (select (item ->> 'account_id')::uuid from json_array_elements(items) item)
    order by b.account_id, b.currency for update;

  with item as materialized (
    select i.* from json_populate_recordset(null::holds, items) i
    where not exists (select 1 from holds h where h.account_id = i.account_id and h.request_id = i.request_id)
  ), judged as (
    -- One currency for the account's whole batch; null where some items may be paid in DIEM and others not.
    select i.account_id, i.request_id, i.key_id, i.amount_nano, i.day, i.admitted_at, i.process_id,
      case
        when d.balance_nano - d.held_nano >= sum(i.amount_nano) over of_account then 'diem'
        when d.balance_nano - d.held_nano >= min(i.amount_nano) over of_account then null
        when u.balance_nano - u.held_nano >= sum(i.amount_nano) over of_account then 'usd'
      end as currency,
      sum(i.amount_nano) over (partition by i.account_id, i.key_id) as key_amount_nano
    from item i
    left join balances d on d.account_id = i.account_id and d.currency = 'diem'
    left join balances u on u.account_id = i.account_id and u.currency = 'usd'
    window of_account as (partition by i.account_id)
  ), checked as (
    select j.*, bool_or(j.currency is null or j.key_id is not null and (
      k.key_id is null or k.revoked_at is not null or k.expires_at <= j.admitted_at
      or key_spent_nano(s, k.limit_period, j.day) + j.key_amount_nano
        > case j.currency when 'diem' then k.limit_diem_nano else k.limit_usd_nano end
    )) over (partition by j.account_id) as tight
    from judged j
    left join api_keys k on k.account_id = j.account_id and k.key_id = j.key_id
    left join key_spend s on s.account_id = j.account_id and s.key_id = j.key_id and s.currency = j.currency
  ), approved as (
    select c.account_id, c.request_id, c.key_id, c.currency, c.amount_nano, c.day, c.admitted_at, c.process_id
    from checked c where c.tight is not true
  ), placed as (
    insert into holds select * from approved
  ), moved as (
    update balances b set held_nano = b.held_nano + a.amount_nano
    from (select account_id, currency, sum(amount_nano) as amount_nano from approved group by 1, 2) a
    where b.account_id = a.account_id and b.currency = a.currency
  )
  insert into key_spend as s (account_id, key_id, currency, held_nano, day, month)
    select account_id, key_id, currency, sum(amount_nano), max(day), date_trunc('month', max(day))::date
    from approved where key_id is not null group by 1, 2, 3
    on conflict (account_id, key_id, currency) do update set held_nano = s.held_nano + excluded.held_nano;

  for rest in
    select i.ordinality, i.account_id, i.request_id, i.key_id, i.amount_nano, i.day, i.admitted_at, i.process_id
    from rows from (json_populate_recordset(null::holds, items)) with ordinality i
    where not exists (select 1 from holds h where h.account_id = i.account_id and h.request_id = i.request_id)
    order by i.ordinality
  loop
    outcomes[rest.ordinality] := admit_one_hold(row(
      rest.account_id, rest.request_id, rest.key_id, null, rest.amount_nano, rest.day, rest.admitted_at, rest.process_id
    )::holds);
  end loop;

  return query
    select i.ordinality, coalesce(outcomes[i.ordinality], 'admitted'), h.currency, u.balance_nano, coalesce(d.balance_nano, 0)
    from rows from (json_populate_recordset(null::holds, items)) with ordinality i
    left join holds h on h.account_id = i.account_id and h.request_id = i.request_id
    left join balances u on u.account_id = i.account_id and u.currency = 'usd'
    left join balances d on d.account_id = i.account_id and d.currency = 'diem';
end
$$`
