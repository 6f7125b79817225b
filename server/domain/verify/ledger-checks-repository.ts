import { type RawBuilder, sql } from 'kysely'
import type { LedgerTransferRow } from '../../db/tables/ledger-transfers-table.ts'
import type { CheckId } from './verification.ts'

/** The platform's side of each kind of entry, and the sides on which the customer may be. */
const KINDS: Record<
  LedgerTransferRow['kind'],
  { accounts: readonly string[]; customer: readonly ('debit' | 'credit')[] }
> = {
  grant: { accounts: ['platform:grants'], customer: ['credit'] },
  correction: { accounts: ['platform:grants', 'platform:usdc'], customer: ['debit'] },
  charge: { accounts: ['platform:revenue'], customer: ['debit'] },
  top_up: { accounts: ['platform:usdc'], customer: ['credit'] },
  refund: { accounts: ['platform:revenue'], customer: ['credit'] },
  diem_allowance: { accounts: ['platform:stake'], customer: ['credit'] },
  diem_expiry: { accounts: ['platform:stake'], customer: ['debit'] },
  transfer: { accounts: ['platform:wallet-links'], customer: ['debit', 'credit'] },
}

const SIDES = sql.join(
  Object.entries(KINDS).flatMap(([kind, { accounts, customer }]) =>
    accounts.flatMap((account) =>
      customer.map((side) => {
        const [debit, credit] = side === 'debit' ? ['customer', account] : [account, 'customer']
        return sql`(${sql.lit(kind)}, ${sql.lit(debit)}, ${sql.lit(credit)})`
      }),
    ),
  ),
)

/** The rows of a slice: conditions on `l`, and the chain's state before its first row. */
export interface LedgerRows {
  where: RawBuilder<unknown>
  previous: { sequence: string; balanceNano: string }
}

/**
 * The transfers of a slice as `t`, with the previous entry of each chain, and whether the event of its request is kept.
 * Most requests end within a day of their admission, so these days are searched first, each by the whole primary key.
 */
export function transfers({ where, previous }: LedgerRows): RawBuilder<unknown> {
  const day = sql`(l.created_at at time zone 'UTC')::date`
  const event = (days: RawBuilder<unknown>) => sql`coalesce((select true from usage_events u
    where u.account_id = l.account_id and u.request_id = l.request_id and ${days} limit 1), false)`
  return sql`select l.*, case l.credit_account when 'customer' then l.amount_nano else -l.amount_nano end as signed,
      lag(l.sequence, 1, ${previous.sequence}::bigint) over chain as previous_sequence,
      lag(l.balance_after_nano, 1, ${previous.balanceNano}::bigint) over chain as previous_balance,
      case when l.kind <> 'charge' then null
        else ${event(sql`u.day = ${day}`)} or ${event(sql`u.day = ${day} - 1`)} or ${event(sql`u.day = ${day} + 1`)}
          or ${event(sql`u.day < ${day} - 1`)} end as has_event
    from ledger_transfers l where ${where}
    window chain as (partition by l.account_id, l.currency order by l.sequence)`
}

const PLACE = sql`format('account %s %s transfer %s', t.account_id, t.currency, t.sequence)`

/** The checks on each single transfer `t`, as rows of a check's id and a place. */
export const TRANSFER_CHECKS: readonly [CheckId, RawBuilder<unknown>][] = [
  [
    'I1',
    sql`select ${PLACE} || format(': %s of %s from %s to %s for request %s', t.kind, t.amount_nano, t.debit_account, t.credit_account,
        coalesce(t.request_id::text, 'none'))
      from t where t.amount_nano <= 0 or (t.kind = 'charge') <> (t.request_id is not null)
        or not exists (select 1 from (values ${SIDES}) s(kind, debit, credit)
          where s.kind = t.kind and s.debit = t.debit_account and s.credit = t.credit_account)`,
  ],
  [
    'I5',
    sql`select ${PLACE} || format(': request %s is charged %s and %s', t.request_id, t.amount_nano, o.amount_nano)
      from t cross join lateral (
        select * from ledger_transfers o where o.account_id = t.account_id and o.request_id = t.request_id and o.kind = 'charge' offset 0
      ) o
      where t.kind = 'charge' and (o.currency, o.sequence) <> (t.currency, t.sequence)`,
  ],
  [
    'I6',
    sql`select ${PLACE} || format(': reference %s is also that of %s transfer %s', t.reference, o.currency, o.sequence)
      from t cross join lateral (
        select * from ledger_transfers o where o.account_id = t.account_id and o.reference = t.reference offset 0
      ) o
      where t.reference is not null and (o.currency, o.sequence) <> (t.currency, t.sequence)`,
  ],
  [
    'I7',
    sql`select ${PLACE} || format(': balance %s after transfer %s with %s, amount %s', t.balance_after_nano,
        t.previous_sequence, t.previous_balance, t.signed)
      from t where t.sequence <> t.previous_sequence + 1 or t.balance_after_nano <> t.previous_balance + t.signed`,
  ],
  [
    'I10',
    sql`select ${PLACE} || format(': top-up of %s, payment %s of %s', t.amount_nano, coalesce(p.payment_id::text, 'none'), p.transfer_atomic * 1000)
      from t left join payments p on t.reference = 'payment:' || p.payment_id and p.state = 'credited'
        and p.payment_id = substring(t.reference from '^payment:([0-9a-f-]{36})$')::uuid and p.account_id = t.account_id
      where t.kind = 'top_up' and (p.payment_id is null or t.currency <> 'usd' or t.amount_nano <> p.transfer_atomic * 1000)
      union all
      select ${PLACE} || format(': correction of %s, payment %s corrected by %s', t.amount_nano, coalesce(p.payment_id::text, 'none'), p.corrected_nano)
      from t left join payments p on p.payment_id = substring(t.reference from '^payment-correction:([0-9a-f-]{36})$')::uuid
        and p.account_id = t.account_id
      where t.kind = 'correction' and t.credit_account = 'platform:usdc' and (p.payment_id is null or p.corrected_nano is distinct from t.amount_nano)`,
  ],
  [
    'I11',
    sql`select ${PLACE} || format(': %s moves, %s accounts, sum %s under %s', o.moves, o.accounts, o.total, t.reference)
      from t cross join lateral (
        select count(*) as moves, count(distinct m.account_id) as accounts,
          sum(case m.credit_account when 'customer' then m.amount_nano else -m.amount_nano end) as total
        from ledger_transfers m where m.kind = 'transfer' and m.reference = t.reference and m.currency = t.currency
      ) o
      where t.kind = 'transfer' and (o.moves <> 2 or o.accounts <> 2 or o.total <> 0)`,
  ],
  [
    'I13',
    sql`select ${PLACE} || format(': charge %s of request %s, no usage event', t.amount_nano, t.request_id)
      from t where not t.has_event
        and not exists (select 1 from usage_expired x where x.account_id = t.account_id and x.currency = t.currency)`,
  ],
]
