import { Client } from 'pg'
import { createPostgresDatabase } from '../../server/db/database.ts'
import { ROLL_DAYS, ROLL_HOURS } from '../../server/db/functions/usage-cells.ts'
import { systemClock } from '../../server/domain/clock.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import { UsageClosing } from '../../server/domain/usage/closing/usage-closing.ts'
import { UsageClosingRepository } from '../../server/domain/usage/closing/usage-closing-repository.ts'

export interface GeneratedAccount {
  accountId: string
  keyIds: string[]
}

export interface UsageGeneratorOptions {
  /** For all accounts together; the first account has two fifths of them. */
  events: number
  /** UTC days; the last one is the day of `until`. */
  days: number
  until: Date
  signal: AbortSignal
}

/** Share of the events and number of keys of each account. */
const ACCOUNTS = [
  { share: 0.4, keys: 24 },
  { share: 0.25, keys: 12 },
  { share: 0.15, keys: 6 },
  { share: 0.12, keys: 4 },
  { share: 0.08, keys: 3 },
] as const
const MODELS = 35
const NETWORKS = 12
const METHODS = 14
const HOURS = [
  ['usage_hourly', 'with (fillfactor = 70)'],
  ['usage_hourly_totals', ''],
] as const
const DAY_MS = 86_400_000
const GRANT_NANO = '1000000000000000000'
const NO_KEY = '00000000-0000-0000-0000-000000000000'

/**
 * Fills a migrated, empty database as if that many settlements had run: events, ledger, key periods and all roll-ups,
 * day by day in set-based SQL. Models, networks, methods and keys follow Zipf's law, a tenth of the events is paid in
 * DIEM, and a day's events are spread evenly over its minutes. Returns the accounts, the largest first.
 */
export async function generateUsage(url: string, options: UsageGeneratorOptions): Promise<GeneratedAccount[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`set synchronous_commit = off; set work_mem = '128MB'; set jit = off; select setseed(0.5)`)
    const accounts = await createAccounts(client, options.until)
    await client.query(`create temp table shares (account_id uuid, of_keys int, events int);
      create temp table totals (account_id uuid, currency text, sequence bigint, balance_nano bigint)`)
    for (const [index, { accountId, keyIds }] of accounts.entries()) {
      const events = Math.round((options.events * (ACCOUNTS[index]?.share ?? 0)) / options.days)
      await client.query('insert into shares values ($1, $2, $3)', [accountId, keyIds.length, events])
    }
    await client.query(
      `insert into totals select account_id, currency, 1, ${GRANT_NANO} from shares, unnest(array['usd', 'diem']) currency`,
    )
    for (let ago = options.days - 1; ago >= 0; ago--) {
      options.signal.throwIfAborted()
      await generateDay(client, new Date(options.until.getTime() - ago * DAY_MS).toISOString().slice(0, 10))
    }
    await finish(client)
    await closeDays(url)
    await client.query('vacuum analyze')
    return accounts
  } finally {
    await client.end()
  }
}

async function createAccounts(client: Client, until: Date): Promise<GeneratedAccount[]> {
  const accounts: GeneratedAccount[] = []
  for (const { keys } of ACCOUNTS) {
    const { rows } = await client.query(
      `insert into accounts (account_id, name, kind, tier, stake_diem_nano, created_at)
        values (gen_random_uuid(), 'generated', 'user', 'standard', 0, $1) returning account_id`,
      [until],
    )
    const accountId = String(rows[0].account_id)
    await client.query(
      `insert into ledger_transfers (account_id, currency, sequence, transfer_id, kind, debit_account, credit_account,
          amount_nano, balance_after_nano, created_at)
        select $1, currency, 1, gen_random_uuid(), 'grant', 'platform:grants', 'customer', ${GRANT_NANO}, ${GRANT_NANO}, '2000-01-01Z'
        from unnest(array['usd', 'diem']) currency`,
      [accountId],
    )
    const added = await client.query(
      `insert into api_keys (account_id, key_id, key_hash, type, description, limit_period, model_privacy, last6_chars, created_at)
        select $1, id, id, 'INFERENCE', 'key ' || n, 'EPOCH', 'ALL', '000000', $2
        from (select gen_random_uuid() as id, n from generate_series(1, $3) n) k
        returning key_id`,
      [accountId, until, keys],
    )
    accounts.push({ accountId, keyIds: added.rows.map((row) => String(row.key_id)) })
  }
  return accounts
}

/** A number from 1 to `count`, by Zipf's law. */
const zipf = (count: number | string) => `floor(exp(random() * ln(${count} + 1)))::int`

async function generateDay(client: Client, day: string): Promise<void> {
  const suffix = day.replaceAll('-', '')
  await client.query(`create table usage_events_${suffix} partition of usage_events
    for values from ('${day}') to ('${day}'::date + 1)`)
  const month = `date_trunc('month', timestamptz '${day}Z', 'UTC')`
  for (const [table, storage] of HOURS) {
    await client.query(`create table if not exists ${table}_${suffix.slice(0, 6)} partition of ${table}
      for values from (${month}) to (${month} + interval '1 month') ${storage}`)
  }
  await client.query(`create temp table made on commit preserve rows as
    select r.*, u.units_1 * price as amount_1, u.units_2 * price * 4 as amount_2, u.units_3 * price / 2 as amount_3, u.*
    from (
      select s.account_id, i, gen_random_uuid() as request_id,
        (array(select key_id from api_keys k where k.account_id = s.account_id order by key_id))[${zipf('s.of_keys')}] as key_id,
        case when random() < 0.1 then 'diem' else 'usd' end as currency,
        random() < 0.25 as is_rpc, ${zipf(MODELS)} as model, ${zipf(NETWORKS)} as network, ${zipf(METHODS)} as method,
        random() < 0.4 as cached, random() as size,
        timestamptz '${day}Z' + interval '24 hours' * ((i - 0.5) / s.events) as admitted_at
      from shares s cross join lateral generate_series(1, s.events) i
    ) r
    cross join lateral (select
      case when is_rpc then 20 * method else 20 + floor(2000 * size * size) end::bigint as units_1,
      case when is_rpc then 0 else 1 + floor(800 * size) end::bigint as units_2,
      case when is_rpc or not cached then 0 else floor(3000 * size) end::bigint as units_3,
      case when is_rpc then 625 else 40 + 30 * model end::bigint as price) u`)
  await client.query(`create temp table named as select m.*, amount_1 + amount_2 + amount_3 as charge_nano,
      case when is_rpc then 'crypto-rpc-network-' || network else 'model-' || model end as sku,
      case when is_rpc then 'crypto-rpc-network-' || network else 'Model ' || model end as model_name,
      case when not is_rpc then 'LLM' end as model_type,
      case when is_rpc then 'credits' else 'tokens' end as unit_type,
      case when is_rpc then 'eth_method' || method else 'Input' end as type_1
    from made m`)
  await client.query(`insert into usage_events (account_id, day, request_id, key_id, currency, sku, model_name, model_type,
      unit_type, lines, charge_nano, hold_nano, outcome, estimated, upstream_id, retries, duration_ms, admitted_at, settled_at)
    select account_id, '${day}', request_id, key_id, currency, sku, model_name, model_type, unit_type,
      ('[' || format('{"type":"%s","units":%s,"amount":"%s"}', type_1, units_1, amount_1)
        || case when is_rpc then '' else format(',{"type":"Output","units":%s,"amount":"%s"}', units_2, amount_2) end
        || case when units_3 = 0 then '' else format(',{"type":"Cache Read","units":%s,"amount":"%s"}', units_3, amount_3) end
        || ']')::json,
      charge_nano, charge_nano, 'completed', false, 'main', 0, 500, admitted_at, admitted_at + interval '500 ms'
    from named order by i`)
  await client.query(`insert into ledger_transfers (account_id, currency, sequence, transfer_id, kind, debit_account,
      credit_account, amount_nano, balance_after_nano, request_id, created_at)
    select n.account_id, n.currency, t.sequence + row_number() over running, request_id, 'charge', 'customer', 'platform:revenue',
      charge_nano, t.balance_nano - sum(charge_nano) over running, request_id, admitted_at + interval '500 ms'
    from named n join totals t using (account_id, currency)
    window running as (partition by n.account_id, n.currency order by i)`)
  await client.query(`update totals t set sequence = t.sequence + n.charges, balance_nano = t.balance_nano - n.charge_nano
    from (select account_id, currency, count(*) as charges, sum(charge_nano) as charge_nano from named group by 1, 2) n
    where t.account_id = n.account_id and t.currency = n.currency`)
  const line = (
    number: number,
    type: string,
    condition: string,
  ) => `select account_id, date '${day}' as day, key_id, sku, currency,
    model_name, model_type, unit_type, date_trunc('hour', admitted_at, 'UTC') as hour, extract(minute from admitted_at)::int / 15 as quarter,
    ${type} as type, ${number === 1 ? 1 : 0} as first, units_${number}::numeric as units, amount_${number} as amount
    from named where ${condition}`
  await client.query(`create temp table cells as
    select account_id, day, hour, quarter, key_id, sku, type, unit_type, currency, max(model_name) as model_name,
      max(model_type) as model_type, sum(first) as requests, count(*) as line_requests, sum(units) as units, sum(amount) as amount_nano
    from (${line(1, 'type_1', 'true')}
      union all ${line(2, "'Output'", 'not is_rpc')} union all ${line(3, "'Cache Read'", 'units_3 > 0')}) line
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9`)
  for (const rollUp of [ROLL_DAYS, ROLL_HOURS]) await client.query(rollUp)
  await client.query('drop table made, named, cells')
}

/** Sets balances and key periods as the settlements would have. */
async function finish(client: Client): Promise<void> {
  await client.query(`insert into balances (account_id, currency, balance_nano, sequence)
    select account_id, currency, balance_nano, sequence from totals`)
  await client.query(`insert into key_spend (account_id, key_id, currency, day, day_nano, month, month_nano, lifetime_nano)
    select account_id, key_id, currency, max(last), coalesce(sum(amount_nano) filter (where day = last), 0), date_trunc('month', max(last))::date,
      coalesce(sum(amount_nano) filter (where day >= date_trunc('month', last)), 0), sum(amount_nano)
    from (select *, max(day) over () as last from usage_daily) d where key_id <> '${NO_KEY}' group by 1, 2, 3`)
  await client.query('analyze')
}

/** Closes the days as a server's maintenance would have done day by day. */
async function closeDays(url: string): Promise<void> {
  const { db, close } = createPostgresDatabase(url)
  try {
    const [closings, ids] = [new UsageClosingRepository(db), createIdSource(systemClock)]
    await new UsageClosing({ closings, clock: systemClock, ids }).closeDays()
  } finally {
    await close()
  }
}
