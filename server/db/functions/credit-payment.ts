/**
 * Credits a settled payment with the amount that the chain moved, and returns its row. A payment that is not settled is
 * returned unchanged; nothing is returned if the row now stores another form of the payment.
 */
export const CREDIT_PAYMENT = `create or replace function credit_payment(of_payment uuid, of_digest text,
  own_account uuid, nano_per_atomic bigint, process_time timestamptz, new_id uuid)
returns setof payments
language plpgsql set lock_timeout = '2s' as $$
declare
  payment payments;
  transfer ledger_transfers;
begin
  select * into payment from payments p where p.payment_id = of_payment and p.digest = of_digest for update;
  if payment.payment_id is null then
    return;
  elsif payment.state <> 'settled' then
    return next payment;
    return;
  end if;
  transfer := post_transfer(
    open_wallet_account(payment.payer_chain, payment.payer_address, own_account, process_time), 'usd', new_id, 'top_up',
    payment.transfer_atomic * nano_per_atomic, 'platform:usdc', 'payment:' || of_payment,
    payment.network || ' ' || payment.transaction_id, ledger_instant(process_time));
  if transfer.account_id is null then
    raise exception 'the account of payment % has no balance', of_payment;
  end if;
  return query update payments p set state = 'credited', account_id = transfer.account_id,
    balance_after_nano = transfer.balance_after_nano, updated_at = process_time, look_at = null,
    recheck_at = process_time
    where p.payment_id = of_payment returning p.*;
end
$$`
