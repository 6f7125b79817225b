import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'

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

/** Sums of one grain of a roll-up, named by `place`, beside those of the days they are made of. */
const rolledUp = (place: string, grain: RawBuilder<unknown>, days: RawBuilder<unknown>) =>
  sql`select ${sql.lit(place)} || coalesce(d.account_id, r.account_id) || ' ' || coalesce(d.currency, r.currency) as place
    from (select account_id, currency, sum(amount_nano) as amount, sum(units) as units,
      sum(requests) as requests, sum(line_requests) as lines
      from usage_daily ${days} group by 1, 2) d
    full join (select account_id, currency, sum(amount_nano) as amount, sum(units) as units,
      sum(requests) as requests, sum(line_requests) as lines
      from ${grain} group by 1, 2) r using (account_id, currency)
    where (d.amount, d.units, d.requests, d.lines) is distinct from (r.amount, r.units, r.requests, r.lines)`

/** The first day whose hours are kept; they are dropped by months. */
const FIRST_DAY_OF_HOURS = sql`(select (min(hour) at time zone 'UTC')::date from usage_hourly)`

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
  {
    id: 'I10',
    description:
      'each credited payment is one top-up of its amount on the account that it names, and each top-up one such payment',
    violations: sql`select coalesce('payment ' || p.payment_id, 'transfer ' || t.transfer_id) as place
      from (select * from payments where state = 'credited') p
      full join (select * from ledger_transfers where kind = 'top_up') t
        on t.account_id = p.account_id and t.reference = 'payment:' || p.payment_id
      where p.payment_id is null or t.transfer_id is null or t.currency <> 'usd' or t.credit_account <> 'customer'
        or t.amount_nano <> p.amount_atomic * 1000 or t.balance_after_nano <> p.balance_after_nano`,
  },
  {
    id: 'I11',
    description: 'what is moved between accounts leaves one and reaches another',
    violations: sql`select reference || ' ' || currency as place from ledger_transfers
      where kind = 'transfer' group by reference, currency
      having count(*) <> 2 or count(distinct account_id) <> 2 or sum(${SIGNED}) <> 0`,
  },
  {
    id: 'I12',
    description: 'sums of usage by model, by key and by hour are those of its days',
    violations: sql.join(
      [
        rolledUp('model ', sql`usage_daily_totals where grain = 'model'`, sql``),
        rolledUp('key ', sql`usage_daily_totals where grain = 'key'`, sql``),
        ...['model', 'key', 'all'].map((grain) =>
          rolledUp(
            `hours of ${grain} `,
            sql`usage_hourly where grain = ${sql.lit(grain)}`,
            sql`where day >= ${FIRST_DAY_OF_HOURS}`,
          ),
        ),
      ],
      sql` union all `,
    ),
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
