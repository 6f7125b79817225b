/**
 * Begins to close up to seven days of each of these accounts, starting with its first open day with usage. The balances
 * are locked only while this statement runs: earlier settlements are in the sums, and later ones see the closing and
 * reopen the days that they change. It skips accounts that another process is closing and, unless it waits, accounts
 * that a settlement has locked.
 */
export const BEGIN_CLOSING = `create or replace function begin_closing(of_accounts uuid[], until_day date, waits boolean)
returns setof uuid
language plpgsql set lock_timeout = '2s'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  idle uuid[];
begin
  if waits then
    perform 1 from balances b where b.account_id = any(of_accounts) order by b.account_id, b.currency for update;
    idle := of_accounts;
  else
    with unlocked as (
      select b.account_id from balances b where b.account_id = any(of_accounts)
      order by b.account_id, b.currency for update skip locked
    )
    select array_agg(u.account_id) into idle
    from (select account_id, count(*) as currencies from unlocked group by 1) u
    where u.currencies = (select count(*) from balances b where b.account_id = u.account_id);
  end if;

  -- Never wait, with balances locked, for a closing of another process.
  with unlocked as (
    select c.account_id from usage_closings c where c.account_id = any(idle) for update skip locked
  )
  select array_agg(a.account_id) into idle from unnest(idle) a(account_id)
  where a.account_id = any(array(select u.account_id from unlocked u))
    or not exists (select 1 from usage_closings c where c.account_id = a.account_id);

  return query
  with first as materialized (
    select a.account_id, (
      select min(d.day) from usage_daily d where d.account_id = a.account_id and d.day < until_day and d.day >=
        coalesce((select c.closed_until from usage_closings c where c.account_id = a.account_id), '-infinity')
    ) as day
    from unnest(idle) a(account_id)
  )
  insert into usage_closings as c (account_id, closing_until, closed_until)
    select f.account_id, least(until_day, f.day + 7), f.day from first f where f.day is not null order by 1
    on conflict (account_id) do update set closing_until = greatest(c.closing_until, excluded.closing_until)
    returning c.account_id;
end
$$`
