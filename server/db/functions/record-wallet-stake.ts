/**
 * Stores, once, a wallet's stake of a day for the account that it uses now, and grants that stake: linking the wallet
 * to another account later that day grants nothing more. Returns the account, or null if the day is already stored or
 * has not begun by the database's clock.
 */
export const RECORD_WALLET_STAKE = `create or replace function record_wallet_stake(of_address text, own_account uuid,
  of_day date, of_stake bigint, process_time timestamptz, new_ids uuid[])
returns uuid
language plpgsql set lock_timeout = '2s' as $$
declare
  used_account uuid;
begin
  if of_day > (ledger_instant(process_time) at time zone 'UTC')::date then
    return null;
  end if;
  used_account := open_wallet_account('evm', of_address, own_account, process_time);
  insert into wallet_stakes as s (wallet_address, account_id, day, stake_nano)
    values (of_address, used_account, of_day, of_stake)
    on conflict (wallet_address) do update
      set account_id = excluded.account_id, day = excluded.day, stake_nano = excluded.stake_nano
      where s.day < excluded.day;
  if not found then
    return null;
  end if;
  if of_stake > 0 then
    perform grant_diem_rise(used_account, process_time, new_ids);
  end if;
  return used_account;
end
$$`
