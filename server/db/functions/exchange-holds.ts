/**
 * One turn of the money path: settlements first, since they free what admissions may then take, both in one transaction
 * and one commit. Amounts are text, since JSON numbers end at 53 bits. All balance rows are locked here, in key order, before either function locks its part of them.
 */
export const EXCHANGE_HOLDS = `create or replace function exchange_holds(settlements json, admissions json) returns json
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  settled json;
  admitted json;
begin
  if json_array_length(settlements) > 0 and json_array_length(admissions) > 0 then
    perform 1 from balances b
      where b.account_id in (
        select (item ->> 'account_id')::uuid from json_array_elements(settlements) item
        union select (item ->> 'account_id')::uuid from json_array_elements(admissions) item
      )
      order by b.account_id, b.currency for update;
  end if;
  if json_array_length(settlements) > 0 then
    select json_agg(json_build_array(s.ordinal, s.outcome, s.charged_nano::text, s.balance_after_nano::text)) into settled
      from settle_holds(settlements) s;
  end if;
  if json_array_length(admissions) > 0 then
    select json_agg(json_build_array(a.ordinal, a.outcome, a.usd_nano::text, a.diem_nano::text, a.currency)) into admitted
      from admit_holds(admissions) a;
  end if;
  return json_build_array(settled, admitted);
end
$$`
