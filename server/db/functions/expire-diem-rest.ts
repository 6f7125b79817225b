/**
 * Expires the unused part of a hold of an earlier day, because DIEM belongs to the day of its admission. Repeats change
 * nothing.
 */
export const EXPIRE_DIEM_REST = `create or replace function expire_diem_rest(of_account uuid, of_request uuid, of_day date,
  rest_nano bigint, process_time timestamptz, new_id uuid)
returns void
language plpgsql set lock_timeout = '2s' as $$
declare
  of_reference text := 'diem-rest:' || of_request;
  balance balances;
  expiring bigint;
begin
  select * into balance from balances b where b.account_id = of_account and b.currency = 'diem' for update;
  if balance.epoch_day is null or balance.epoch_day <= of_day then
    return;
  end if;
  perform 1 from ledger_transfers t where t.account_id = of_account and t.reference = of_reference;
  if found then
    return;
  end if;
  expiring := least(rest_nano, balance.balance_nano - balance.held_nano);
  if expiring > 0 then
    perform post_transfer(of_account, 'diem', new_id, 'diem_expiry', -expiring, 'platform:stake', of_reference, null,
      ledger_instant(process_time));
  end if;
end
$$`
