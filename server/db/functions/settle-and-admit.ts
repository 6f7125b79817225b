/** In key order, here and in every function that moves money, so processes cannot deadlock. */
const lockBalances = (suffix: string) => `
    select array_agg(l.account_id), array_agg(l.account_id) filter (
      where l.currency = 'diem' and (l.epoch_day is null or l.epoch_day < (instant at time zone 'UTC')::date)
    ) into locked, behind
    from (
      select b.account_id, b.currency, b.epoch_day from balances b where b.account_id = any (named)
      order by b.account_id, b.currency for update ${suffix}
    ) l;`

/**
 * One batch of the money path in one transaction and one commit: settlements first, because they free money for the
 * admissions. All balance rows are locked here, once. It does not wait for a row that another transaction has locked:
 * the items of that account are skipped and return `busy`. With `waits`, for accounts whose balances others keep
 * locking, it waits in PostgreSQL's own queue, so processes take turns, and fails with `lock_not_available` after 500
 * ms.
 *
 * A lone item is decided by simple statements, because set-based ones cost more to start than one decision. The
 * settings keep every table access a look-up by primary key: a plan made while the tables were empty would otherwise
 * scan them when they are large. The lock timeout also bounds waits that no balance row guards, such as those for
 * partition maintenance.
 */
export const SETTLE_AND_ADMIT = `create or replace function settle_and_admit(
  settlements settlement[], admissions admission[], by_process uuid, process_time timestamptz, waits boolean)
returns table (kind text, ordinal integer, outcome text, currency text, charged_nano bigint, usd_nano bigint,
  diem_nano bigint, admitted_at timestamptz)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  -- In milliseconds, so a process that reads it loses no precision.
  instant timestamptz := date_trunc('milliseconds', ledger_instant(process_time));
  named uuid[] := array(select account_id from unnest(settlements) union all select account_id from unnest(admissions));
  locked uuid[];
  busy uuid[] := '{}';
  -- Accounts whose DIEM still belongs to an earlier day.
  behind uuid[];
  account uuid;
begin
  if waits then${lockBalances('')}
  else${lockBalances('skip locked')}
  end if;
  if (select count(*) from balances b where b.account_id = any (named)) > coalesce(cardinality(locked), 0) then
    busy := array(
      select b.account_id from balances b where b.account_id = any (named) group by 1
      having count(*) > (select count(*) from unnest(locked) l where l = b.account_id)
    );
    return query
      select 'settle', i.ordinality::integer, 'busy', null, null::bigint, null::bigint, null::bigint, null::timestamptz
      from unnest(settlements) with ordinality i where i.account_id = any (busy)
      union all
      select 'admit', i.ordinality::integer, 'busy', null, null, null, null, null
      from unnest(admissions) with ordinality i where i.account_id = any (busy);
  end if;

  if cardinality(settlements) > 1 then
    return query
      select 'settle', s.ordinal, s.outcome, null, s.charged_nano, s.balance_after_nano, null::bigint, null::timestamptz
      from settle_holds(settlements, busy, instant) s;
  elsif cardinality(settlements) = 1 and settlements[1].account_id <> all (busy) then
    return query
      select 'settle', 1, s.outcome, null, s.charged_nano, s.balance_after_nano, null::bigint, null::timestamptz
      from settle_one_hold(settlements[1], instant) s;
  end if;

  if cardinality(admissions) = 0 then
    return;
  end if;
  -- A hold is never paid with DIEM of an earlier day, whatever day the process assumed.
  foreach account in array coalesce(behind, '{}') loop
    continue when account = any (busy);
    perform start_diem_day(account, process_time, gen_random_uuid(), gen_random_uuid());
  end loop;
  if cardinality(admissions) > 1 then
    return query
      select 'admit', a.ordinal, a.outcome, a.currency, null::bigint, a.usd_nano, a.diem_nano, a.admitted_at
      from admit_holds(admissions, busy, by_process, instant) a;
  elsif admissions[1].account_id <> all (busy) then
    return query
      select 'admit', 1, a.outcome, a.currency, null::bigint, a.usd_nano, a.diem_nano, a.admitted_at
      from admit_one_hold(admissions[1], by_process, instant) a;
  end if;
end
$$`
