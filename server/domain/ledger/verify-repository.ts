import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { PAYMENT_INVARIANTS } from '../payments/payment-checks-repository.ts'
import { FIRST_MONDAY, SPANS, type SpanDays, type UsageGrain } from '../usage/usage-roll-ups.ts'

export interface VerificationCheck {
  id: string
  description: string
  ok: boolean
  /** Up to ten places where the invariant is broken. */
  violations: string[]
}

export interface Verification {
  ok: boolean
  checks: VerificationCheck[]
}

interface Invariant {
  id: string
  description: string
  /** Selects one text column, `place`, per violation. */
  violations: RawBuilder<{ place: string }>
}

const VIOLATIONS_MAX = 10
/** Usage without a key, in tables that sum it up. */
const NO_KEY = '00000000-0000-0000-0000-000000000000'

/** What `customer` gains or loses by a transfer. */
const SIGNED = sql`case credit_account when 'customer' then amount_nano else -amount_nano end`

/** What was charged, by events and, where these are no longer kept, by their sums. */
const EVENTS_OF_ALL_TIME = sql`select account_id, key_id, currency, charge_nano from usage_events
  union all select account_id, nullif(key_id, ${NO_KEY}::uuid), currency, charge_nano from usage_expired`

/** Keys whose spending of their current day or month, which limits count, is not that of their usage. */
const spentWithin = (period: 'day' | 'month') => {
  const spent = sql.ref(`k.${period}_nano`)
  return sql`select k.key_id || ' ' || k.currency || ${sql.lit(` ${period}`)} from key_spend k
      left join (
        select account_id, key_id, currency, date_trunc(${sql.lit(period)}, day)::date as since, sum(amount_nano) as total
        from usage_daily group by 1, 2, 3, 4
      ) d on d.account_id = k.account_id and d.key_id = k.key_id and d.currency = k.currency and d.since = ${sql.ref(`k.${period}`)}
      where ${spent} <> coalesce(d.total, 0)`
}

/** Rows of roll-ups with an account, a currency and the day on which begins what they are of. */
interface RolledUp {
  place: string
  /** Closed sums, or what hours come to. */
  sums: RawBuilder<unknown>
  /** What they are made of. */
  parts: RawBuilder<unknown>
}

/** Where sums are not those of their parts, in each account, currency and day. */
const rolledUp = ({ place, sums, parts }: RolledUp) => {
  const total = (rows: RawBuilder<unknown>) => sql`(
    select account_id, currency, day, sum(amount_nano) as amount, sum(units) as units,
      sum(requests) as requests, sum(line_requests) as lines
    from (${rows}) r group by 1, 2, 3)`
  return sql`select ${sql.lit(place)} || ' ' || account_id || ' ' || currency || ' ' || day as place
    from ${total(sums)} s full join ${total(parts)} p using (account_id, currency, day)
    where (s.amount, s.units, s.requests, s.lines) is distinct from (p.amount, p.units, p.requests, p.lines)`
}

const SUMMED = sql`account_id, currency, amount_nano, units, requests, line_requests`
const DAY_OF_HOUR = sql`(hour at time zone 'UTC')::date`
/** The first day whose hours are kept; they are dropped by months. */
const FIRST_DAY_OF_HOURS = sql`(select (min(hour) at time zone 'UTC')::date from usage_hourly)`
const CLOSED_HOURS = sql`usage_closings using (account_id) where ${DAY_OF_HOUR} < closed_until and ${DAY_OF_HOUR} >= ${FIRST_DAY_OF_HOURS}`

/** Closed spans of one length; whoever reads sums reads no others. */
const spansOf = (length: SpanDays, grain: UsageGrain): RolledUp => {
  const starts = sql`day - (day - ${sql.lit(FIRST_MONDAY)}::date) % ${sql.lit(length)}`
  return {
    place: `${length} days by ${grain}`,
    sums: sql`select starts as day, ${SUMMED} from usage_daily_totals join usage_closings using (account_id)
      where starts <= closed_until - days and grain = ${sql.lit(grain)} and days = ${sql.lit(length)}`,
    parts: sql`select ${starts} as day, ${SUMMED} from usage_daily join usage_closings using (account_id)
      where ${starts} <= closed_until - ${sql.lit(length)}`,
  }
}

const GRAINS: readonly UsageGrain[] = ['line', 'model', 'key', 'total']

const ROLLED_UP: readonly RolledUp[] = [
  {
    place: 'hours',
    sums: sql`select ${DAY_OF_HOUR} as day, ${SUMMED} from usage_hourly`,
    parts: sql`select day, ${SUMMED} from usage_daily where day >= ${FIRST_DAY_OF_HOURS}`,
  },
  ...SPANS.flatMap((length) => GRAINS.map((grain) => spansOf(length, grain))),
  ...SPANS.filter((length) => length > 1).map((length) => spansOf(length, 'all')),
  ...['model', 'key', 'total'].map((grain) => ({
    place: `hours by ${grain}`,
    sums: sql`select ${DAY_OF_HOUR} as day, ${SUMMED} from usage_hourly_totals join ${CLOSED_HOURS} and grain = ${sql.lit(grain)}`,
    parts: sql`select ${DAY_OF_HOUR} as day, ${SUMMED} from usage_hourly join ${CLOSED_HOURS}`,
  })),
]

/** Invariants of the money path. I8, real-time order, needs a client's history and is proven by tests. */
const INVARIANTS: readonly Invariant[] = [
  {
    id: 'I1',
    description: 'every transfer moves an amount between two different ledger accounts, one of them the customer',
    violations: sql`select transfer_id::text as place from ledger_transfers
      where amount_nano <= 0 or debit_account = credit_account or 'customer' not in (debit_account, credit_account)`,
  },
  {
    id: 'I2',
    description: 'a balance is the sum of its transfers',
    violations: sql`select coalesce(b.account_id, t.account_id) || ' ' || coalesce(b.currency, t.currency) as place from balances b
      full join (select account_id, currency, sum(${SIGNED}) as total, count(*) as transfers from ledger_transfers group by 1, 2) t
        using (account_id, currency)
      where coalesce(b.balance_nano, 0) <> coalesce(t.total, 0) or coalesce(b.sequence, 0) <> coalesce(t.transfers, 0)`,
  },
  {
    id: 'I3',
    description: 'no balance is negative and no more is held than there is',
    violations: sql`select account_id || ' ' || currency as place from balances
      where balance_nano < 0 or held_nano < 0 or held_nano > balance_nano`,
  },
  {
    id: 'I4',
    description: 'the held amount is the sum of the open holds, of the account and of each key',
    violations: sql`select coalesce(b.account_id, h.account_id) || ' ' || coalesce(b.currency, h.currency) as place from balances b
      full join (select account_id, currency, sum(amount_nano) as total from holds group by 1, 2) h using (account_id, currency)
      where coalesce(b.held_nano, 0) <> coalesce(h.total, 0)
      union all
      select coalesce(s.key_id, h.key_id) || ' ' || coalesce(s.currency, h.currency) from key_spend s
      full join (
        select account_id, key_id, currency, sum(amount_nano) as total from holds where key_id is not null group by 1, 2, 3
      ) h using (account_id, key_id, currency)
      where coalesce(s.held_nano, 0) <> coalesce(h.total, 0)`,
  },
  {
    id: 'I5',
    description: 'a request is charged at most once, and not while its hold is open',
    violations: sql`select request_id::text as place from ledger_transfers
      where kind = 'charge' group by account_id, request_id having count(*) > 1
      union all
      select h.request_id::text from holds h
      join ledger_transfers t on t.account_id = h.account_id and t.request_id = h.request_id`,
  },
  {
    id: 'I6',
    description: 'a reference is posted once per account',
    violations: sql`select account_id || ' ' || reference as place from ledger_transfers
      where reference is not null group by account_id, reference having count(*) > 1`,
  },
  {
    id: 'I7',
    description:
      'each transfer continues the chain: sequences without gaps, each balance the one before plus the amount',
    violations: sql`select account_id || ' ' || currency || ' ' || sequence as place from (
        select account_id, currency, sequence, balance_after_nano, ${SIGNED} as signed,
          lag(sequence, 1, 0::bigint) over chain as previous_sequence,
          lag(balance_after_nano, 1, 0::bigint) over chain as previous_balance
        from ledger_transfers window chain as (partition by account_id, currency order by sequence)
      ) t
      where sequence <> previous_sequence + 1 or balance_after_nano <> previous_balance + signed`,
  },
  {
    id: 'I9',
    description:
      'usage events, those no longer kept included, daily roll-ups, key periods and ledger charges add up to the same amount',
    violations: sql`select coalesce(l.account_id, u.account_id, d.account_id) || ' ' || coalesce(l.currency, u.currency, d.currency) as place
      from (select account_id, currency, sum(amount_nano) as total from ledger_transfers where kind = 'charge' group by 1, 2) l
      full join (select account_id, currency, sum(charge_nano) as total from (${EVENTS_OF_ALL_TIME}) e group by 1, 2) u using (account_id, currency)
      full join (select account_id, currency, sum(amount_nano) as total from usage_daily group by 1, 2) d using (account_id, currency)
      where coalesce(l.total, 0) <> coalesce(u.total, 0) or coalesce(l.total, 0) <> coalesce(d.total, 0)
      union all
      select coalesce(k.key_id, u.key_id) || ' ' || coalesce(k.currency, u.currency) from key_spend k
      full join (
        select account_id, key_id, currency, sum(charge_nano) as total from (${EVENTS_OF_ALL_TIME}) e
        where key_id is not null group by 1, 2, 3
      ) u using (account_id, key_id, currency)
      where coalesce(k.lifetime_nano, 0) <> coalesce(u.total, 0)
      union all
      ${spentWithin('day')}
      union all
      ${spentWithin('month')}`,
  },
  ...PAYMENT_INVARIANTS,
  {
    id: 'I11',
    description: 'what is moved between accounts leaves one and reaches another',
    violations: sql`select reference || ' ' || currency as place from ledger_transfers
      where kind = 'transfer' group by reference, currency
      having count(*) <> 2 or count(distinct account_id) <> 2 or sum(${SIGNED}) <> 0`,
  },
  {
    id: 'I12',
    description: 'hours add up to their days, and sums of closed days and hours are those of what they are made of',
    violations: sql.join(ROLLED_UP.map(rolledUp), sql` union all `),
  },
]

/** Checks the invariants in one snapshot of the database, so that running traffic cannot look like a violation. */
export class VerifyRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  async verify(): Promise<Verification> {
    const checks = await this.#db.transaction().execute(async (trx) => {
      await sql`set transaction isolation level repeatable read`.execute(trx)
      const results: VerificationCheck[] = []
      for (const { id, description, violations } of INVARIANTS) {
        const { rows } = await sql<{
          place: string
        }>`select place from (${violations}) v limit ${VIOLATIONS_MAX}`.execute(trx)
        results.push({ id, description, ok: rows.length === 0, violations: rows.map((row) => row.place) })
      }
      return results
    })
    return { ok: checks.every((check) => check.ok), checks }
  }
}
