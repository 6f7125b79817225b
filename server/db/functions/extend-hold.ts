/**
 * Increases an open hold to an amount if the balance and the key's limit cover the increase; a repeat changes nothing.
 * A revoked or expired key gets no increase. It waits for the balance only as long as other batches usually take,
 * because it occupies a connection of the money path.
 */
export const EXTEND_HOLD = `create or replace function extend_hold(of_account uuid, of_request uuid, to_nano bigint,
  process_time timestamptz) returns text
language plpgsql set lock_timeout = '300ms' as $$
declare
  hold holds;
  key api_keys;
  spend key_spend;
  balance balances;
  key_limit numeric;
  by_nano bigint;
begin
  select b.* into balance from balances b join holds h using (account_id, currency)
    where h.account_id = of_account and h.request_id = of_request for update of b;
  select * into hold from holds h where h.account_id = of_account and h.request_id = of_request;
  if hold.request_id is null then
    return 'lost';
  end if;
  by_nano := to_nano - hold.amount_nano;
  if by_nano <= 0 then
    return 'extended';
  end if;
  if hold.key_id is not null then
    select * into key from api_keys k where k.account_id = of_account and k.key_id = hold.key_id;
    if key.key_id is null or key.revoked_at is not null or key.expires_at <= ledger_instant(process_time) then
      return 'key_inactive';
    end if;
    select * into spend from key_spend s
      where s.account_id = of_account and s.key_id = hold.key_id and s.currency = hold.currency;
    key_limit := case hold.currency when 'diem' then key.limit_diem_nano else key.limit_usd_nano end;
    if key_spent_nano(spend, key.limit_period, hold.day) + by_nano > key_limit then
      return 'insufficient';
    end if;
  end if;
  if balance.balance_nano - balance.held_nano < by_nano then
    return 'insufficient';
  end if;
  update key_spend s set held_nano = s.held_nano + by_nano
    where s.account_id = of_account and s.key_id = hold.key_id and s.currency = hold.currency;
  update holds h set amount_nano = to_nano where h.account_id = of_account and h.request_id = of_request;
  update balances b set held_nano = b.held_nano + by_nano where b.account_id = of_account and b.currency = hold.currency;
  return 'extended';
end
$$`
