/**
 * Expires the free DIEM of the day before and grants the allowance of the current day, once per day and account, and
 * returns the instant that decided the day. Open holds keep their DIEM.
 */
export const START_DIEM_DAY = `create or replace function start_diem_day(of_account uuid, process_time timestamptz,
  expiry_id uuid, allowance_id uuid)
returns timestamptz
language plpgsql set lock_timeout = '2s' as $$
declare
  instant timestamptz := ledger_instant(process_time);
  today date := (instant at time zone 'UTC')::date;
  balance balances;
  expiring bigint;
  granted bigint;
begin
  -- Most calls find the day started, and see that without a lock.
  perform 1 from balances b
    where b.account_id = of_account and b.currency = 'diem' and (b.epoch_day is null or b.epoch_day < today);
  if not found then
    return instant;
  end if;
  select * into balance from balances b where b.account_id = of_account and b.currency = 'diem' for update;
  if balance.epoch_day >= today then
    return instant;
  end if;
  expiring := balance.balance_nano - balance.held_nano;
  if expiring > 0 then
    perform post_transfer(of_account, 'diem', expiry_id, 'diem_expiry', -expiring, 'platform:stake',
      'diem-expiry:' || to_char(today, 'YYYY-MM-DD'), null, instant);
  end if;
  granted := diem_stake_of(of_account, today);
  if granted > 0 then
    perform post_transfer(of_account, 'diem', allowance_id, 'diem_allowance', granted, 'platform:stake',
      'diem-allowance:' || to_char(today, 'YYYY-MM-DD'), null, instant);
    insert into diem_stakes as s (account_id, day, stake_nano) values (of_account, today, granted)
      on conflict (account_id, day) do update set stake_nano = greatest(s.stake_nano, excluded.stake_nano);
  end if;
  update balances b set epoch_day = today where b.account_id = of_account and b.currency = 'diem';
  return instant;
end
$$`
