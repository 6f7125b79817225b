/** Stops counting the bytes of responses that had expired by an instant. Concurrent processes share the work. */
export const RELEASE_IDEMPOTENCY_BYTES = `create or replace function release_idempotency_bytes(by_instant timestamptz) returns void
language plpgsql as $$
declare
  steps bigint;
begin
  with expired as (
    select account_id, expires_at from idempotency_written
    where expires_at <= by_instant
    order by account_id, expires_at
    for update skip locked
  ), deleted as (
    delete from idempotency_written w using expired e
    where w.account_id = e.account_id and w.expires_at = e.expires_at
    returning w.account_id, w.bytes
  ), freed as (
    select account_id, sum(bytes)::bigint as bytes from deleted group by account_id order by account_id
  ), reduced as (
    update idempotency_storage s set bytes = s.bytes - f.bytes
    from freed f where s.account_id = f.account_id
    returning idempotency_steps(s.bytes + f.bytes) - idempotency_steps(s.bytes) as steps
  )
  select coalesce(sum(r.steps), 0) into steps from reduced r;
  if steps > 0 then
    update idempotency_total set bytes = bytes - steps * 65536;
  end if;
end
$$`
