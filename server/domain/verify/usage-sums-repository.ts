import { type RawBuilder, sql } from 'kysely'
import { FIRST_MONDAY } from '../usage/closing/usage-roll-ups.ts'
import { inRange } from './snapshot-repository.ts'
import type { AccountRange } from './verify-scan.ts'

/** The first day of the span of `length` days that contains `day`. */
export function spanOf(day: RawBuilder<unknown>, length: number): RawBuilder<string> {
  return sql`(${day} - (${day} - ${sql.lit(FIRST_MONDAY)}::date) % ${sql.lit(length)})`
}

/**
 * The spending of each key before a day, by account, key and currency: from the fewest totals of closed days, then the
 * daily roll-ups. `days` selects `account_id` and `before`, a day or `infinity`.
 */
export function spentBefore(range: AccountRange, days: RawBuilder<unknown>): RawBuilder<unknown> {
  const bound = sql`least(a.before, coalesce(c.closed_until, '-infinity'))`
  return sql`
    select account_id, key_id, currency, sum(amount_nano) as total from (
      select t.account_id, t.key_id, t.currency, t.amount_nano
      from (
        select a.account_id, ${bound} as bound, w.four as four, w.one as one
        from (${days}) a join usage_closings c using (account_id)
        cross join lateral (select ${spanOf(bound, 28)} as four, ${spanOf(bound, 7)} as one) w
        where ${bound} > '-infinity' and ${bound} < 'infinity'
      ) a
      join usage_daily_totals t on t.account_id = a.account_id and t.grain = 'key' and (
        (t.days = 28 and t.starts < a.four) or (t.days = 7 and t.starts >= a.four and t.starts < a.one)
        or (t.days = 1 and t.starts >= a.one and t.starts < a.bound))
      where ${inRange('t', range)}
      union all
      select d.account_id, d.key_id, d.currency, d.amount_nano
      from (${days}) a left join usage_closings c using (account_id)
      join usage_daily d on d.account_id = a.account_id and d.day >= ${bound} and d.day < a.before
      where ${inRange('d', range)}
    ) spent group by 1, 2, 3`
}

/** The accounts of the range, with `before` after all of their days. */
export function allDays(range: AccountRange): RawBuilder<unknown> {
  return sql`select a.account_id, 'infinity'::date as before from accounts a where ${inRange('a', range)}`
}

/**
 * Accounts with expired events, and the first day with events. Retention drops whole days, so all earlier days have
 * expired.
 */
export function expiredDays(range: AccountRange): RawBuilder<unknown> {
  return sql`select x.account_id, coalesce(
      (select u.day from usage_events u where u.account_id = x.account_id order by u.day limit 1), 'infinity') as before
    from (select distinct x.account_id from usage_expired x where ${inRange('x', range)}) x`
}
