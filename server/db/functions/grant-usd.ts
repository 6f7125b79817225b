/**
 * Posts an operator's grant or, if negative, correction. A reference that is already used posts nothing and returns its
 * transfer; a correction beyond the free amount posts nothing and returns the free amount.
 */
export const GRANT_USD = `create or replace function grant_usd(of_account uuid, new_id uuid, by_nano bigint,
  of_reference text, of_reason text, process_time timestamptz)
returns table (outcome text, free_nano bigint, transfer ledger_transfers)
language plpgsql set lock_timeout = '2s' as $$
declare
  balance balances;
begin
  select * into balance from balances b where b.account_id = of_account and b.currency = 'usd' for update;
  select * into transfer from ledger_transfers t where t.account_id = of_account and t.reference = of_reference;
  free_nano := balance.balance_nano - balance.held_nano;
  outcome := case
    when balance.account_id is null then 'account_missing'
    when transfer.account_id is not null then 'repeated'
    when free_nano + by_nano < 0 then 'insufficient'
    else 'posted'
  end;
  if outcome = 'posted' then
    transfer := post_transfer(of_account, 'usd', new_id, case when by_nano > 0 then 'grant' else 'correction' end, by_nano,
      'platform:grants', of_reference, of_reason, ledger_instant(process_time));
  end if;
  return next;
end
$$`
