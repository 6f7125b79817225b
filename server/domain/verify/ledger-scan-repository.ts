import { type RawBuilder, sql } from 'kysely'
import type { Currency } from '../money.ts'
import { type LedgerRows, TRANSFER_CHECKS, transfers } from './ledger-checks-repository.ts'
import { inRange, type ReadSnapshot, type Snapshot, unionOf } from './snapshot-repository.ts'
import type { CheckId, Violation } from './verification.ts'
import { type AccountRange, LAST_ID, type StepOptions, type VerifyPosition, type VerifyStep } from './verify-scan.ts'

/**
 * A chain (one account and currency) read in parts: its expected totals from the first part, and the totals of the parts
 * so far.
 */
type ChainPart = Record<
  | 'account'
  | 'currency'
  | 'until'
  | 'balance'
  | 'usage'
  | 'expired'
  | 'sequence'
  | 'running'
  | 'transfers'
  | 'signed'
  | 'charged'
  | 'eventless',
  string
>

/** Checks each transfer by itself and against its request's event, and the totals of each chain. */
export const ledgerScan = {
  name: 'ledger',

  step(read: ReadSnapshot, { position, rows }: StepOptions): Promise<VerifyStep> {
    return read(async (snapshot) => {
      const { after, within } = position
      if (within !== undefined) return continueChain(snapshot, { after, part: toPart(within), rows })
      const { until, large } = await nextAccounts(snapshot, after, rows)
      if (large !== null) return beginChain(snapshot, { after, account: large, currency: 'diem' })
      const violations = await checkAccounts(snapshot, { after, until: until ?? LAST_ID })
      return { violations, next: until === null ? null : { after: until } }
    })
  },
}

/** The accounts whose transfers fit into a slice: `until` null means all remaining ones. `large`: not even one does. */
async function nextAccounts(snapshot: Snapshot, after: string, rows: number) {
  const [beyond] = await snapshot.rows<{ account_id: string }>(sql`select account_id from ledger_transfers
    where account_id > ${after}::uuid order by account_id, currency, sequence offset ${rows} limit 1`)
  if (beyond === undefined) return { until: null, large: null }
  const [last] = await snapshot.rows<{ account_id: string }>(sql`select account_id from ledger_transfers
    where account_id > ${after}::uuid and account_id < ${beyond.account_id}::uuid order by account_id desc limit 1`)
  return last === undefined ? { until: null, large: beyond.account_id } : { until: last.account_id, large: null }
}

async function checkAccounts(snapshot: Snapshot, range: AccountRange): Promise<Violation[]> {
  const rows = { where: inRange('l', range), previous: { sequence: '0', balanceNano: '0' } }
  const found = await snapshot.rows<Violation>(sql`with t as materialized (${transfers(rows)}),
    chains as (${chains(range)})
    ${unionOf([...TRANSFER_CHECKS, ...CHAIN_CHECKS])}`)
  return found
}

/** Totals per account and currency: of its transfers, and of everything that they must equal. */
function chains(range: AccountRange): RawBuilder<unknown> {
  return sql`select * from (
      select account_id, currency, count(*) as transfers, sum(signed) as signed,
        coalesce(sum(amount_nano) filter (where kind = 'charge'), 0) as charged,
        coalesce(sum(amount_nano) filter (where not has_event), 0) as eventless
      from t group by 1, 2) s
    full join (select account_id, currency, balance_nano, sequence from balances b where ${inRange('b', range)}) b using (account_id, currency)
    full join (${usageOf(range)}) u using (account_id, currency)
    full join (${expiredOf(range)}) x using (account_id, currency)`
}

function usageOf(range: AccountRange): RawBuilder<unknown> {
  return sql`select account_id, currency, sum(amount_nano) as usage from (
      select d.account_id, d.currency, d.amount_nano from usage_daily d left join usage_closings c using (account_id)
      where ${inRange('d', range)} and d.day >= coalesce(c.closed_until, '-infinity')
      union all
      select t.account_id, t.currency, t.amount_nano from usage_daily_totals t join usage_closings c using (account_id)
      where ${inRange('t', range)} and t.grain = 'total' and t.days = 1 and t.starts < c.closed_until
    ) d group by 1, 2`
}

function expiredOf(range: AccountRange): RawBuilder<unknown> {
  return sql`select account_id, currency, sum(charge_nano) as expired from usage_expired x where ${inRange('x', range)} group by 1, 2`
}

const CHAIN_CHECKS: readonly [CheckId, RawBuilder<unknown>][] = [
  [
    'I2',
    sql`select format('account %s %s: balance %s after %s transfers, sum %s of %s', account_id, currency,
        coalesce(balance_nano::text, 'none'), coalesce(sequence, 0), coalesce(signed, 0), coalesce(transfers, 0))
      from chains where coalesce(balance_nano, 0) <> coalesce(signed, 0) or coalesce(sequence, 0) <> coalesce(transfers, 0)
        or (sequence is null and transfers is not null)`,
  ],
  [
    'I9',
    sql`select format('account %s %s: charges %s, usage %s', account_id, currency, coalesce(charged, 0), coalesce(usage, 0))
      from chains where coalesce(charged, 0) <> coalesce(usage, 0)`,
  ],
  [
    'I13',
    sql`select format('account %s %s: charges without an event %s, expired events %s', account_id, currency,
        coalesce(eventless, 0), coalesce(expired, 0))
      from chains where coalesce(eventless, 0) <> coalesce(expired, 0)`,
  ],
]

interface LargeChain {
  after: string
  account: string
  currency: Currency
}

/** Stores the expected totals of the chain; transfers posted later are not part of it. */
async function beginChain(snapshot: Snapshot, { after, account, currency }: LargeChain): Promise<VerifyStep> {
  const totals = await chainTotals(snapshot, account, currency)
  const sums = { sequence: '0', running: '0', transfers: '0', signed: '0', charged: '0', eventless: '0' }
  return { violations: [], next: { after, within: { account, currency, ...totals, ...sums } } }
}

async function chainTotals(snapshot: Snapshot, account: string, currency: string) {
  const range = { after: beforeId(account), until: account }
  const [row] = await snapshot.rows<{ until: string; balance: string; usage: string; expired: string }>(sql`select
      coalesce((select max(t.sequence) from ledger_transfers t where t.account_id = ${account} and t.currency = ${currency}), 0)::text as until,
      coalesce((select b.balance_nano::text from balances b where b.account_id = ${account} and b.currency = ${currency}), 'none') as balance,
      coalesce((select usage from (${usageOf(range)}) u where currency = ${currency}), 0)::text as usage,
      coalesce((select expired from (${expiredOf(range)}) x where currency = ${currency}), 0)::text as expired`)
  return row ?? { until: '0', balance: 'none', usage: '0', expired: '0' }
}

interface NextPart {
  after: string
  part: ChainPart
  rows: number
}

async function continueChain(snapshot: Snapshot, { after, part, rows }: NextPart): Promise<VerifyStep> {
  const { account, currency, sequence, until } = part
  const slice: LedgerRows = {
    where: sql`l.account_id = ${account}::uuid and l.currency = ${currency} and l.sequence > ${sequence}::bigint
      and l.sequence <= ${until}::bigint and l.sequence <= ${sequence}::bigint + ${rows}`,
    previous: { sequence, balanceNano: part.running },
  }
  const from = sql`with t as materialized (${transfers(slice)})`
  const violations = await snapshot.rows<Violation>(sql`${from} ${unionOf(TRANSFER_CHECKS)}`)
  const [sums] = await snapshot.rows<ChainPart>(sql`${from} select
      (${part.transfers}::bigint + count(*))::text as transfers, (${part.signed}::numeric + coalesce(sum(signed), 0))::text as signed,
      (${part.charged}::numeric + coalesce(sum(amount_nano) filter (where kind = 'charge'), 0))::text as charged,
      (${part.eventless}::numeric + coalesce(sum(amount_nano) filter (where not has_event), 0))::text as eventless,
      coalesce((array_agg(balance_after_nano order by sequence desc))[1], ${part.running}::bigint)::text as running from t`)
  const reached = min(BigInt(sequence) + BigInt(rows), BigInt(until))
  const next: ChainPart = { ...part, ...sums, sequence: reached.toString() }
  if (reached < BigInt(until)) return { violations, next: { after, within: next } }
  return endChain(snapshot, { after, part: next, violations })
}

interface LastPart {
  after: string
  part: ChainPart
  violations: Violation[]
}

async function endChain(snapshot: Snapshot, { after, part, violations }: LastPart): Promise<VerifyStep> {
  const { account, currency } = part
  // Retention may meanwhile have dropped events of the first parts.
  const { expired } = await chainTotals(snapshot, account, currency)
  if (expired !== part.expired)
    return beginChain(snapshot, { after, account, currency: currency === 'usd' ? 'usd' : 'diem' })
  const name = `account ${account} ${currency}`
  const found = [...violations]
  const absent = part.until === '0' && part.balance === 'none'
  if (!absent && (part.signed !== part.balance || part.transfers !== part.until)) {
    const place = `${name}: balance ${part.balance} after ${part.until} transfers, sum ${part.signed} of ${part.transfers}`
    found.push({ id: 'I2', place })
  }
  if (part.charged !== part.usage)
    found.push({ id: 'I9', place: `${name}: charges ${part.charged}, usage ${part.usage}` })
  if (part.eventless !== part.expired) {
    found.push({
      id: 'I13',
      place: `${name}: charges without an event ${part.eventless}, expired events ${part.expired}`,
    })
  }
  if (currency === 'usd') return { violations: found, next: { after: account } }
  const following = await beginChain(snapshot, { after, account, currency: 'usd' })
  return { ...following, violations: found }
}

const min = (a: bigint, b: bigint) => (a < b ? a : b)

/** The preceding id, for a range of a single account. */
function beforeId(id: string): string {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) - 1n).toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function toPart(within: NonNullable<VerifyPosition['within']>): ChainPart {
  const text = (name: string) => within[name] ?? '0'
  return {
    account: text('account'),
    currency: text('currency'),
    until: text('until'),
    balance: text('balance'),
    usage: text('usage'),
    expired: text('expired'),
    sequence: text('sequence'),
    running: text('running'),
    transfers: text('transfers'),
    signed: text('signed'),
    charged: text('charged'),
    eventless: text('eventless'),
  }
}
