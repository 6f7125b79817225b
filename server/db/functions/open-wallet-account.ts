/**
 * The account that a wallet uses: the linked one or its own, which is created if missing. Until the transaction ends
 * the wallet can be neither linked nor unlinked, so no credit misses a link. A link that does not exist yet has no row
 * to lock, hence the advisory lock.
 */
export const OPEN_WALLET_ACCOUNT = `create or replace function open_wallet_account(of_chain text, of_address text,
  own_account uuid, process_time timestamptz)
returns uuid
language plpgsql set lock_timeout = '2s' as $$
declare
  linked uuid;
begin
  perform pg_advisory_xact_lock(hashtextextended('wallet-link:' || of_chain || ':' || of_address, 0));
  select l.account_id into linked from wallet_links l where l.wallet_chain = of_chain and l.wallet_address = of_address;
  if linked is not null then
    return linked;
  end if;
  insert into accounts (account_id, name, kind, tier, wallet_chain, wallet_address, created_at)
    values (own_account, of_address, 'wallet', 'standard', of_chain, of_address, ledger_instant(process_time))
    on conflict do nothing;
  insert into balances (account_id, currency) values (own_account, 'usd') on conflict do nothing;
  return own_account;
end
$$`
