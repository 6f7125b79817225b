/** The credit of a settled payment and its change of state: once, whoever tries. Returns the payment as it is then. */
export const CREDIT_PAYMENT = `create or replace function credit_payment(of_payment uuid, own_account uuid,
  nano_per_atomic bigint, process_time timestamptz, new_id uuid)
returns setof payments
language plpgsql set lock_timeout = '2s' as $$
declare
  payment payments;
  transfer ledger_transfers;
begin
  select * into payment from payments p where p.payment_id = of_payment for update;
  if payment.state is distinct from 'settled' then
    return query select * from payments p where p.payment_id = of_payment;
    return;
  end if;
  transfer := post_transfer(
    open_wallet_account(payment.payer_chain, payment.payer_address, own_account, process_time), 'usd', new_id, 'top_up',
    payment.amount_atomic * nano_per_atomic, 'platform:usdc', 'payment:' || of_payment,
    payment.network || ' ' || payment.transaction_id, ledger_instant(process_time));
  return query update payments p set state = 'credited', account_id = transfer.account_id,
    balance_after_nano = transfer.balance_after_nano, updated_at = process_time, look_at = null
    where p.payment_id = of_payment returning p.*;
end
$$`
