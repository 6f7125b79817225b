/**
 * The stake that grants a day's DIEM: the operator's part plus the stake of the account's wallets when the day began.
 */
export const DIEM_STAKE_OF = `create or replace function diem_stake_of(of_account uuid, of_day date) returns bigint
language sql stable as $$
  select coalesce((select a.stake_diem_nano from accounts a where a.account_id = of_account), 0)
    + coalesce((select sum(s.stake_nano) from wallet_stakes s where s.account_id = of_account and s.day = of_day), 0)::bigint
$$`
