/** Puts one hold, or says why not: DIEM first, then USD, each needing the balance and the key's limit to cover it. */
export const ADMIT_ONE_HOLD = `create or replace function admit_one_hold(hold holds) returns text language plpgsql as $$
declare
  key api_keys;
  spend key_spend;
  key_limit numeric;
  balance balances;
  refusal text := 'insufficient_balance';
begin
  if hold.key_id is not null then
    select * into key from api_keys k where k.account_id = hold.account_id and k.key_id = hold.key_id;
    if key.key_id is null or key.revoked_at is not null or key.expires_at <= hold.admitted_at then
      return 'key_inactive';
    end if;
  end if;
  for balance in
    select * from balances b where b.account_id = hold.account_id order by b.currency = 'diem' desc
  loop
    continue when balance.balance_nano - balance.held_nano < hold.amount_nano;
    key_limit := case balance.currency when 'diem' then key.limit_diem_nano else key.limit_usd_nano end;
    if key_limit is not null then
      select * into spend from key_spend s
        where s.account_id = hold.account_id and s.key_id = hold.key_id and s.currency = balance.currency;
      if key_spent_nano(spend, key.limit_period, hold.day) + hold.amount_nano > key_limit then
        refusal := 'key_limit_' || balance.currency;
        continue;
      end if;
    end if;
    hold.currency := balance.currency;
    insert into holds select hold.*;
    update balances b set held_nano = b.held_nano + hold.amount_nano
      where b.account_id = hold.account_id and b.currency = hold.currency;
    if hold.key_id is not null then
      insert into key_spend as s (account_id, key_id, currency, held_nano, day, month)
        values (hold.account_id, hold.key_id, hold.currency, hold.amount_nano, hold.day, date_trunc('month', hold.day)::date)
        on conflict (account_id, key_id, currency) do update set held_nano = s.held_nano + excluded.held_nano;
    end if;
    return 'admitted';
  end loop;
  return refusal;
end
$$`
