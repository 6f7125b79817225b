/**
 * Links a wallet to an account and moves the free balances of the wallet's own account, all or nothing; a repeat moves
 * what has become free since. Both transfers of a move share one reference, which proves that they belong together.
 * Takes three new ids for each of the two currencies.
 */
export const LINK_WALLET = `create or replace function link_wallet(of_chain text, of_address text, own_account uuid,
  to_account uuid, wallets_max integer, process_time timestamptz, new_ids uuid[])
returns table (outcome text, linked_at timestamptz, usd_nano bigint, diem_nano bigint)
language plpgsql set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  instant timestamptz := ledger_instant(process_time);
  linked uuid;
  reason text := 'Wallet ' || of_address || ' was linked to account ' || to_account;
  moving record;
  shared_reference text;
begin
  perform pg_advisory_xact_lock(hashtextextended('wallet-link:' || of_chain || ':' || of_address, 0));
  select l.account_id into linked from wallet_links l where l.wallet_chain = of_chain and l.wallet_address = of_address;
  if linked <> to_account then
    return query select 'linked_elsewhere', null::timestamptz, 0::bigint, 0::bigint;
    return;
  end if;
  if linked is null then
    -- Concurrent links of one account must count each other.
    perform 1 from accounts a where a.account_id = to_account for update;
    if (select count(*) from wallet_links l where l.account_id = to_account) >= wallets_max then
      return query select 'too_many', null::timestamptz, 0::bigint, 0::bigint;
      return;
    end if;
    insert into wallet_links (wallet_chain, wallet_address, account_id, linked_at)
      values (of_chain, of_address, to_account, instant);
  end if;
  -- Lock in the order that every function that moves money uses, so they cannot deadlock.
  perform 1 from balances b where b.account_id in (own_account, to_account) order by b.account_id, b.currency for update;
  usd_nano := 0;
  diem_nano := 0;
  for moving in
    select own.currency, own.balance_nano - own.held_nano as free_nano, (own.currency = 'usd')::integer * 3 as offset_ids
    from balances own join balances other on other.account_id = to_account and other.currency = own.currency
    -- DIEM of one day must not become DIEM of another.
    where own.account_id = own_account and own.epoch_day is not distinct from other.epoch_day
      and own.balance_nano > own.held_nano
  loop
    shared_reference := 'wallet-link:' || new_ids[moving.offset_ids + 1];
    perform post_transfer(own_account, moving.currency, new_ids[moving.offset_ids + 2], 'transfer', -moving.free_nano,
      'platform:wallet-links', shared_reference, reason, instant);
    perform post_transfer(to_account, moving.currency, new_ids[moving.offset_ids + 3], 'transfer', moving.free_nano,
      'platform:wallet-links', shared_reference, reason, instant);
    if moving.currency = 'usd' then
      usd_nano := moving.free_nano;
    else
      diem_nano := moving.free_nano;
    end if;
  end loop;
  select 'linked', l.linked_at into outcome, linked_at from wallet_links l
    where l.wallet_chain = of_chain and l.wallet_address = of_address;
  return next;
end
$$`
