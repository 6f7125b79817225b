/**
 * Grants what the account's day lacks after its stake rose, and opens its DIEM balance if it has none. It compares with
 * the amount already granted for the day, so two concurrent changes cannot grant one increase twice.
 */
export const GRANT_DIEM_RISE = `create or replace function grant_diem_rise(of_account uuid, process_time timestamptz, new_ids uuid[])
returns timestamptz
language plpgsql set lock_timeout = '2s' as $$
declare
  instant timestamptz;
  day_start timestamptz;
  balance balances;
  stake bigint;
  rise bigint;
begin
  insert into balances (account_id, currency) values (of_account, 'diem') on conflict do nothing;
  instant := start_diem_day(of_account, process_time, new_ids[1], new_ids[2]);
  select * into balance from balances b where b.account_id = of_account and b.currency = 'diem' for update;
  day_start := balance.epoch_day::timestamp at time zone 'UTC';
  stake := diem_stake_of(of_account, balance.epoch_day);
  rise := stake - (
    select coalesce(sum(t.amount_nano), 0) from ledger_transfers t
    where t.account_id = of_account and t.currency = 'diem' and t.kind = 'diem_allowance' and t.created_at >= day_start
  );
  if rise > 0 then
    -- Another process may have started the next day while this one waited for the lock.
    perform post_transfer(of_account, 'diem', new_ids[3], 'diem_allowance', rise, 'platform:stake', null, null,
      greatest(instant, day_start));
    insert into diem_stakes as s (account_id, day, stake_nano) values (of_account, balance.epoch_day, stake)
      on conflict (account_id, day) do update set stake_nano = greatest(s.stake_nano, excluded.stake_nano);
  end if;
  return instant;
end
$$`
