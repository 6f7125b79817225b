/**
 * Credits a settled payment with the amount that the chain moved, and returns its row; a payment that is not settled is
 * returned as it is. The wallet's link is locked, so that no credit is posted to an account that the wallet just left.
 * One statement: no lock on a balance spans a round trip, and whoever waits for one gives up soon and tries again.
 */
export const CREDIT_PAYMENT = `create or replace function credit_payment(
  of_payment uuid, of_digest text, own_account uuid, of_transfer uuid, process_time timestamptz
) returns setof payments
language plpgsql
set lock_timeout = '2s'
as $$
declare
  payment payments;
  credited uuid;
  balance balances;
begin
  select * into payment from payments p where p.payment_id = of_payment and p.digest = of_digest for update;
  if payment.payment_id is null then
    return;
  elsif payment.state <> 'settled' then
    return next payment;
    return;
  end if;

  perform pg_advisory_xact_lock(hashtextextended('wallet-link:' || payment.payer_chain || ':' || payment.payer_address, 0));
  select l.account_id into credited from wallet_links l
    where l.wallet_chain = payment.payer_chain and l.wallet_address = payment.payer_address;
  if credited is null then
    credited := own_account;
    insert into accounts (account_id, name, kind, tier, wallet_chain, wallet_address, created_at)
      values (own_account, payment.payer_address, 'wallet', 'standard', payment.payer_chain, payment.payer_address, process_time)
      on conflict do nothing;
    insert into balances (account_id, currency) values (own_account, 'usd') on conflict do nothing;
  end if;

  update balances b set balance_nano = b.balance_nano + payment.transfer_atomic * 1000, sequence = b.sequence + 1
    where b.account_id = credited and b.currency = 'usd' returning * into balance;
  if balance.account_id is null then
    raise exception 'the account % has no balance', credited;
  end if;
  insert into ledger_transfers (account_id, currency, sequence, transfer_id, kind, debit_account, credit_account,
    amount_nano, balance_after_nano, reference, reason, created_at)
  values (credited, 'usd', balance.sequence, of_transfer, 'top_up', 'platform:usdc', 'customer',
    payment.transfer_atomic * 1000, balance.balance_nano, 'payment:' || payment.payment_id,
    payment.network || ' ' || payment.transaction_id, process_time);
  return query update payments p set state = 'credited', account_id = credited,
    balance_after_nano = balance.balance_nano, updated_at = process_time, look_at = null, recheck_at = process_time
    where p.payment_id = of_payment returning p.*;
end
$$`
