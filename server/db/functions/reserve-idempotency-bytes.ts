/**
 * Counts the bytes of a stored response against its account and the whole database until the end of the hour in which
 * it expires. Returns false and counts nothing if either has no room. A response deleted earlier stays counted, because
 * its disk space is free only after a vacuum. The total moves in steps of 64 KiB per account, so small responses of
 * different accounts do not contend for one row.
 */
export const RESERVE_IDEMPOTENCY_BYTES = `create or replace function reserve_idempotency_bytes(
  of_account uuid, expiry timestamptz, written bigint, account_max bigint, total_max bigint
) returns boolean
language plpgsql as $$
declare
  counted bigint;
  steps bigint;
begin
  if written > account_max then return false; end if;
  insert into idempotency_storage as s (account_id, bytes) values (of_account, written)
  on conflict (account_id) do update set bytes = s.bytes + excluded.bytes
  where s.bytes + excluded.bytes <= account_max
  returning s.bytes into counted;
  if not found then return false; end if;
  steps := idempotency_steps(counted) - idempotency_steps(counted - written);
  if steps > 0 then
    update idempotency_total set bytes = bytes + steps * 65536 where bytes + steps * 65536 <= total_max;
    if not found then
      update idempotency_storage set bytes = bytes - written where account_id = of_account;
      return false;
    end if;
  end if;
  insert into idempotency_written as w (account_id, expires_at, bytes)
  values (of_account, date_trunc('hour', expiry) + interval '1 hour', written)
  on conflict (account_id, expires_at) do update set bytes = w.bytes + excluded.bytes;
  return true;
end
$$`

export const IDEMPOTENCY_STEPS = `create or replace function idempotency_steps(bytes bigint) returns bigint
language sql immutable as $$
  select (bytes + 65535) / 65536
$$`
