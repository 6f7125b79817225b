/**
 * Changes an account's balance by `by_nano` and appends the matching transfer; returns null if the balance does not
 * exist. A check on the balance rejects a transfer that would take held money.
 */
export const POST_TRANSFER = `create or replace function post_transfer(of_account uuid, of_currency text, new_id uuid,
  of_kind text, by_nano bigint, counter_account text, of_reference text, of_reason text, posted_at timestamptz)
returns ledger_transfers
language plpgsql set lock_timeout = '2s' as $$
declare
  balance balances;
  posted ledger_transfers;
begin
  update balances b set balance_nano = b.balance_nano + by_nano, sequence = b.sequence + 1
    where b.account_id = of_account and b.currency = of_currency returning * into balance;
  if balance.account_id is null then
    return null;
  end if;
  insert into ledger_transfers as t (account_id, currency, sequence, transfer_id, kind, debit_account, credit_account,
      amount_nano, balance_after_nano, reference, reason, created_at)
    values (of_account, of_currency, balance.sequence, new_id, of_kind,
      case when by_nano > 0 then counter_account else 'customer' end,
      case when by_nano > 0 then 'customer' else counter_account end,
      abs(by_nano), balance.balance_nano, of_reference, of_reason, posted_at)
    returning * into posted;
  return posted;
end
$$`
