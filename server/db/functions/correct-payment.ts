/**
 * Takes back the credit of a payment whose transfer a reorganization undid, as far as the money is still free: no
 * balance becomes negative, and no hold loses its cover. A payment is corrected once; a repeat returns its row.
 */
export const CORRECT_PAYMENT = `create or replace function correct_payment(
  of_payment uuid, of_transfer uuid, of_reason text, process_time timestamptz
) returns setof payments
language plpgsql
set lock_timeout = '2s'
as $$
declare
  payment payments;
  balance balances;
  taken bigint;
begin
  select * into payment from payments p where p.payment_id = of_payment for update;
  if payment.payment_id is null then
    return;
  elsif payment.state <> 'credited' or payment.corrected_at is not null then
    return next payment;
    return;
  end if;

  select * into balance from balances b where b.account_id = payment.account_id and b.currency = 'usd' for update;
  taken := least(balance.balance_nano - balance.held_nano, payment.transfer_atomic * 1000);
  if taken > 0 then
    perform post_transfer(payment.account_id, 'usd', of_transfer, 'correction', -taken, 'platform:usdc',
      'payment-correction:' || payment.payment_id, of_reason, ledger_instant(process_time));
  end if;
  return query update payments p set corrected_nano = taken, corrected_at = process_time, recheck_at = null,
    updated_at = process_time where p.payment_id = of_payment returning p.*;
end
$$`
