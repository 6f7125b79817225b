/** Grows an open hold when the balance and the key's limit cover the growth; false otherwise. */
export const EXTEND_HOLD = `create or replace function extend_hold(of_account uuid, of_request uuid, by_nano bigint) returns boolean
language plpgsql as $$
declare
  hold holds;
  key api_keys;
  spend key_spend;
  balance balances;
  key_limit numeric;
begin
  select b.* into balance from balances b join holds h using (account_id, currency)
    where h.account_id = of_account and h.request_id = of_request for update of b;
  select * into hold from holds h where h.account_id = of_account and h.request_id = of_request;
  if hold.request_id is null or balance.balance_nano - balance.held_nano < by_nano then
    return false;
  end if;
  if hold.key_id is not null then
    select * into key from api_keys k where k.account_id = of_account and k.key_id = hold.key_id;
    select * into spend from key_spend s
      where s.account_id = of_account and s.key_id = hold.key_id and s.currency = hold.currency;
    key_limit := case hold.currency when 'diem' then key.limit_diem_nano else key.limit_usd_nano end;
    if key_spent_nano(spend, key.limit_period, hold.day) + by_nano > key_limit then
      return false;
    end if;
    update key_spend s set held_nano = s.held_nano + by_nano
      where s.account_id = of_account and s.key_id = hold.key_id and s.currency = hold.currency;
  end if;
  update holds h set amount_nano = h.amount_nano + by_nano where h.account_id = of_account and h.request_id = of_request;
  update balances b set held_nano = b.held_nano + by_nano where b.account_id = of_account and b.currency = hold.currency;
  return true;
end
$$`
