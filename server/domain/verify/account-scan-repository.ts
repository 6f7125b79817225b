import { type RawBuilder, sql } from 'kysely'
import { inRange, type ReadSnapshot } from './snapshot-repository.ts'
import { allDays, expiredDays, spentBefore } from './usage-sums-repository.ts'
import type { CheckId, Violation } from './verification.ts'
import { type AccountRange, LAST_ID, NO_KEY, type StepOptions, type VerifyStep } from './verify-scan.ts'

/** Checking one account reads far more than one row. */
const ROWS_PER_ACCOUNT = 50

/** Checks the current state of an account: balances, holds, keys and today's DIEM. */
export const accountScan = {
  name: 'accounts',

  step(read: ReadSnapshot, { position: { after }, rows, now }: StepOptions): Promise<VerifyStep> {
    return read(async (snapshot) => {
      const limit = Math.max(1, Math.round(rows / ROWS_PER_ACCOUNT))
      const [last] = await snapshot.rows<{ account_id: string }>(
        sql`select account_id from accounts where account_id > ${after}::uuid order by 1 offset ${limit - 1} limit 1`,
      )
      const range = { after, until: last?.account_id ?? LAST_ID }
      const violations: Violation[] = []
      for (const [id, statement] of checksOf(range, now)) violations.push(...(await snapshot.violations(id, statement)))
      return { violations, next: last === undefined ? null : { after: last.account_id } }
    })
  },
}

function checksOf(range: AccountRange, now: Date): [CheckId, RawBuilder<unknown>][] {
  return [
    ['I2', unlikeLastTransfer(range)],
    ['I3', outOfBounds(range)],
    ['I4', heldUnlikeHolds(range)],
    ['I4', keyHeldUnlikeHolds(range)],
    ['I5', chargedWhileHeld(range)],
    ['I9', lifetimeUnlikeUsage(range)],
    ['I9', periodUnlikeUsage(range, 'day')],
    ['I9', periodUnlikeUsage(range, 'month')],
    ['I9', periodsOutOfTime(range, now)],
    ['I9', expiredUnlikeUsage(range)],
    ['I16', allowanceUnlikeStake(range)],
    ['I17', accountsWithoutBalance(range)],
  ]
}

function unlikeLastTransfer(range: AccountRange) {
  return sql`select format('account %s %s: balance %s after %s transfers, ledger %s after %s', b.account_id, b.currency,
      b.balance_nano, b.sequence, coalesce(t.balance_after_nano, 0), coalesce(t.sequence, 0)) as place
    from balances b left join lateral (
      select t.sequence, t.balance_after_nano from ledger_transfers t
      where t.account_id = b.account_id and t.currency = b.currency order by t.sequence desc limit 1
    ) t on true
    where ${inRange('b', range)}
      and (b.balance_nano, b.sequence) is distinct from (coalesce(t.balance_after_nano, 0), coalesce(t.sequence, 0))`
}

function outOfBounds(range: AccountRange) {
  return sql`select format('account %s %s: balance %s, held %s', b.account_id, b.currency, b.balance_nano, b.held_nano) as place
    from balances b where ${inRange('b', range)} and (b.balance_nano < 0 or b.held_nano < 0 or b.held_nano > b.balance_nano)`
}

function heldUnlikeHolds(range: AccountRange) {
  return sql`select format('account %s %s: held %s, holds %s', account_id, currency, coalesce(b.held_nano, 0), coalesce(h.total, 0)) as place
    from (select * from balances b where ${inRange('b', range)}) b
    full join (select account_id, currency, sum(amount_nano) as total from holds h where ${inRange('h', range)} group by 1, 2) h
      using (account_id, currency)
    where b.account_id is null or coalesce(b.held_nano, 0) <> coalesce(h.total, 0)`
}

function keyHeldUnlikeHolds(range: AccountRange) {
  return sql`select format('account %s key %s %s: held %s, holds %s', account_id, key_id, currency,
      coalesce(s.held_nano, 0), coalesce(h.total, 0)) as place
    from (select * from key_spend s where ${inRange('s', range)}) s
    full join (
      select account_id, key_id, currency, sum(amount_nano) as total from holds h
      where ${inRange('h', range)} and key_id is not null group by 1, 2, 3
    ) h using (account_id, key_id, currency)
    where coalesce(s.held_nano, 0) <> coalesce(h.total, 0)`
}

function chargedWhileHeld(range: AccountRange) {
  return sql`select format('account %s request %s: charge %s, open hold %s', h.account_id, h.request_id, t.amount_nano, h.amount_nano) as place
    from holds h cross join lateral (
      select * from ledger_transfers t where t.account_id = h.account_id and t.request_id = h.request_id offset 0
    ) t
    where ${inRange('h', range)}`
}

function lifetimeUnlikeUsage(range: AccountRange) {
  return sql`select format('account %s key %s %s: lifetime %s, usage %s', account_id, key_id, currency,
      coalesce(s.lifetime_nano, 0), coalesce(u.total, 0)) as place
    from (select * from key_spend s where ${inRange('s', range)}) s
    full join (select * from (${spentBefore(range, allDays(range))}) u where key_id <> ${NO_KEY}::uuid) u
      using (account_id, key_id, currency)
    where coalesce(s.lifetime_nano, 0) <> coalesce(u.total, 0)`
}

function periodUnlikeUsage(range: AccountRange, period: 'day' | 'month') {
  const [since, counted] = [sql.ref(`s.${period}`), sql.ref(`s.${period}_nano`)]
  return sql`select format('account %s key %s %s: %s of %s is %s, usage %s', s.account_id, s.key_id, s.currency,
      ${sql.lit(period)}, ${since}, ${counted}, u.total) as place
    from key_spend s cross join lateral (
      select coalesce(sum(d.amount_nano), 0) as total from usage_daily d
      where d.account_id = s.account_id and d.key_id = s.key_id and d.currency = s.currency
        and d.day >= ${since} and d.day < ${since} + interval ${sql.lit(`1 ${period}`)}
    ) u
    where ${inRange('s', range)} and ${counted} <> u.total`
}

/** A counter of a future day or month without usage reads as zero spent today, which would lift the key's limit. */
function periodsOutOfTime(range: AccountRange, now: Date) {
  // The snapshot is slightly younger than its transaction.
  const today = sql`((ledger_instant(${now}::timestamptz) + interval '2 seconds') at time zone 'UTC')::date`
  return sql`select format('account %s key %s %s: day %s and month %s, last usage %s, today %s', s.account_id, s.key_id, s.currency,
      s.day, s.month, u.day, ${today}) as place
    from key_spend s left join lateral (
      select max(d.day) as day from usage_daily d
      where d.account_id = s.account_id and d.day >= s.day and d.key_id = s.key_id and d.currency = s.currency
    ) u on true
    where ${inRange('s', range)}
      and ((s.day > ${today} and u.day is null) or u.day > s.day or s.month <> date_trunc('month', s.day)::date)`
}

function expiredUnlikeUsage(range: AccountRange) {
  return sql`select format('account %s key %s %s: expired events %s, usage of their days %s', account_id, key_id, currency,
      coalesce(x.charge_nano, 0), coalesce(u.total, 0)) as place
    from (select * from usage_expired x where ${inRange('x', range)}) x
    full join (${spentBefore(range, expiredDays(range))}) u using (account_id, key_id, currency)
    where coalesce(x.charge_nano, 0) <> coalesce(u.total, 0)`
}

function allowanceUnlikeStake(range: AccountRange) {
  return sql`select format('account %s day %s: granted %s DIEM nano, stake %s', account_id, day, coalesce(t.total, 0), coalesce(s.stake_nano, 0)) as place
    from (
      select t.account_id, coalesce(substring(t.reference from '^diem-allowance:(\\d{4}-\\d\\d-\\d\\d)$')::date,
        (t.created_at at time zone 'UTC')::date) as day, sum(t.amount_nano) as total
      from ledger_transfers t where ${inRange('t', range)} and t.kind = 'diem_allowance' group by 1, 2
    ) t
    full join (select * from diem_stakes s where ${inRange('s', range)}) s using (account_id, day)
    where coalesce(t.total, 0) <> coalesce(s.stake_nano, 0)`
}

function accountsWithoutBalance(range: AccountRange) {
  return sql`select format('account %s has no USD balance', a.account_id) as place from accounts a
    where ${inRange('a', range)}
      and not exists (select 1 from balances b where b.account_id = a.account_id and b.currency = 'usd' and ${inRange('b', range)})
    union all
    select format('balance %s of account %s, which does not exist', b.currency, b.account_id) from balances b
    where ${inRange('b', range)} and not exists (
      select 1 from accounts a where a.account_id = b.account_id and ${inRange('a', range)})`
}
