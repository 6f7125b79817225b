import { type Kysely, sql } from 'kysely'

/** What a key has spent and holds in its limit period; a row of an earlier day or month counts as zero. */
const KEY_SPENT = sql`create function key_spent_nano(spend key_spend, period text, on_day date) returns bigint
language sql immutable as $$
  select case
    when spend is null then 0
    else spend.held_nano + case period
      when 'LIFETIME' then spend.lifetime_nano
      when 'MONTH' then case when spend.month >= date_trunc('month', on_day)::date then spend.month_nano else 0 end
      else case when spend.day >= on_day then spend.day_nano else 0 end
    end
  end
$$`

/** Puts one hold, or says why not: DIEM first, then USD, each needing the balance and the key's limit to cover it. */
const ADMIT_ONE = sql`create function admit_one_hold(hold holds) returns text language plpgsql as $$
declare
  key api_keys;
  spend key_spend;
  key_limit numeric;
  balance balances;
  refusal text := 'insufficient_balance';
begin
  if hold.key_id is not null then
    select * into key from api_keys k where k.account_id = hold.account_id and k.key_id = hold.key_id;
    if key.key_id is null or key.revoked_at is not null or key.expires_at <= hold.admitted_at then
      return 'key_inactive';
    end if;
  end if;
  for balance in
    select * from balances b where b.account_id = hold.account_id order by b.currency = 'diem' desc
  loop
    continue when balance.balance_nano - balance.held_nano < hold.amount_nano;
    key_limit := case balance.currency when 'diem' then key.limit_diem_nano else key.limit_usd_nano end;
    if key_limit is not null then
      select * into spend from key_spend s
        where s.account_id = hold.account_id and s.key_id = hold.key_id and s.currency = balance.currency;
      if key_spent_nano(spend, key.limit_period, hold.day) + hold.amount_nano > key_limit then
        refusal := 'key_limit_' || balance.currency;
        continue;
      end if;
    end if;
    hold.currency := balance.currency;
    insert into holds select hold.*;
    update balances b set held_nano = b.held_nano + hold.amount_nano
      where b.account_id = hold.account_id and b.currency = hold.currency;
    if hold.key_id is not null then
      insert into key_spend as s (account_id, key_id, currency, held_nano, day, month)
        values (hold.account_id, hold.key_id, hold.currency, hold.amount_nano, hold.day, date_trunc('month', hold.day)::date)
        on conflict (account_id, key_id, currency) do update set held_nano = s.held_nano + excluded.held_nano;
    end if;
    return 'admitted';
  end loop;
  return refusal;
end
$$`

/**
 * Decides a batch of admissions exactly, in arrival order. An account whose whole batch is covered is admitted in one
 * set-based statement; any other is decided item by item. Balance rows are locked first and in key order, here and in
 * every function that moves money, so that processes cannot deadlock. An item whose hold stands already was admitted by
 * an attempt whose answer got lost: it is admitted again without a second hold. The settings keep every table access a
 * look-up by primary key: a plan made while the tables were empty would else scan them when they are large.
 */
const ADMIT_HOLDS = sql`create function admit_holds(items json)
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

/** Grows an open hold when the balance and the key's limit cover the growth; false otherwise. */
const EXTEND_HOLD = sql`create function extend_hold(of_account uuid, of_request uuid, by_nano bigint) returns boolean
language plpgsql as $$
declare
  hold holds;
  key api_keys;
  spend key_spend;
  balance balances;
  key_limit numeric;
begin
  select b.* into balance from balances b join holds h using (account_id, currency)
    where h.account_id = of_account and h.request_id = of_request for update of b;
  select * into hold from holds h where h.account_id = of_account and h.request_id = of_request;
  if hold.request_id is null or balance.balance_nano - balance.held_nano < by_nano then
    return false;
  end if;
  if hold.key_id is not null then
    select * into key from api_keys k where k.account_id = of_account and k.key_id = hold.key_id;
    select * into spend from key_spend s
      where s.account_id = of_account and s.key_id = hold.key_id and s.currency = hold.currency;
    key_limit := case hold.currency when 'diem' then key.limit_diem_nano else key.limit_usd_nano end;
    if key_spent_nano(spend, key.limit_period, hold.day) + by_nano > key_limit then
      return false;
    end if;
    update key_spend s set held_nano = s.held_nano + by_nano
      where s.account_id = of_account and s.key_id = hold.key_id and s.currency = hold.currency;
  end if;
  update holds h set amount_nano = h.amount_nano + by_nano where h.account_id = of_account and h.request_id = of_request;
  update balances b set held_nano = b.held_nano + by_nano where b.account_id = of_account and b.currency = hold.currency;
  return true;
end
$$`

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [KEY_SPENT, ADMIT_ONE, ADMIT_HOLDS, EXTEND_HOLD]) await statement.execute(db)
}
