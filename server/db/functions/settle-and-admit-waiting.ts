/**
 * The same for accounts whose balances others keep locking: it waits for them in PostgreSQL's own queue, so that
 * processes take turns, and fails with `lock_not_available` when a lock is not had within 500 ms.
 */
export const SETTLE_AND_ADMIT_WAITING = `create or replace function settle_and_admit_waiting(
  settlements settlement[], admissions admission[], by_process uuid, process_time timestamptz)
returns table (kind text, ordinal integer, outcome text, currency text, charged_nano bigint, usd_nano bigint,
  diem_nano bigint, admitted_at timestamptz)
language plpgsql
set enable_seqscan = off set lock_timeout = '500ms'
as $$
begin
  perform from balances b
    where b.account_id = any (array(select i.account_id from unnest(settlements) i union select i.account_id from unnest(admissions) i))
    order by b.account_id, b.currency for update;
  return query select * from settle_and_admit(settlements, admissions, by_process, process_time);
end
$$`
