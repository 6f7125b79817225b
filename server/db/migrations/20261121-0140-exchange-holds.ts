import { type Kysely, sql } from 'kysely'

/**
 * One turn of the money path: settlements first, since they free what admissions may then take, both in one transaction
 * and one commit. All balance rows are locked here, in key order, before either function locks its part of them.
 */
const EXCHANGE_HOLDS = sql`create function exchange_holds(settlements json, admissions json)
returns table (settled boolean, ordinal bigint, outcome text, currency text, first_nano bigint, second_nano bigint)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
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
    return query select true, s.ordinal, s.outcome, null::text, s.charged_nano, s.balance_after_nano
      from settle_holds(settlements) s;
  end if;
  if json_array_length(admissions) > 0 then
    return query select false, a.ordinal, a.outcome, a.currency, a.usd_nano, a.diem_nano from admit_holds(admissions) a;
  end if;
end
$$`

export async function up(db: Kysely<unknown>): Promise<void> {
  await EXCHANGE_HOLDS.execute(db)
}
