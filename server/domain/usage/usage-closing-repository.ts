import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { FIRST_MONDAY, type SpanDays } from './usage-roll-ups.ts'

const NO_KEY = sql.lit('00000000-0000-0000-0000-000000000000')
const TOTALS = sql`usage_daily_totals (account_id, grain, days, starts, key_id, sku, line_type, unit_type, currency,
  model_name, model_type, requests, line_requests, units, amount_nano)`
const SUMS = sql`sum(requests), sum(line_requests), sum(units), sum(amount_nano)`
const CUTS = [15, 30, 45] as const
const HOUR_MEASURES = ['requests', 'line_requests', 'units', 'amount_nano'].flatMap((measure) => [
  measure,
  ...CUTS.map((cut) => `${measure}_${cut}`),
])

interface OpenDays {
  accountId: string
  from: string
  until: string
}

/** Sums of closed days, made from the roll-ups that settlements write. */
export class UsageClosingRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Accounts with usage before `untilDay` that is not summed up, in the order of their ids, behind `afterId`. */
  async listOpen(untilDay: string, afterId: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ account_id: string }>`
      select a.account_id from accounts a left join usage_closings c using (account_id)
      cross join lateral (
        select 1 from usage_daily d
        where d.account_id = a.account_id and d.day >= coalesce(c.closed_until, '-infinity') and d.day < ${untilDay}::date limit 1
      ) open
      where a.account_id > ${afterId} order by 1 limit ${limit}`.execute(this.#db)
    return rows.map((row) => row.account_id)
  }

  /**
   * Begins to close seven days from an account's first open day with usage on, up to `untilDay` at most; false when
   * there is none. It waits for the settlements that run: from then on they know of it, and open again what they add to.
   */
  async begin(accountId: string, untilDay: string): Promise<boolean> {
    return this.#db.transaction().execute(async (trx) => {
      await sql`select 1 from balances where account_id = ${accountId} order by currency for update`.execute(trx)
      const { rows } = await sql`
        with first as (
          select min(day) as day from usage_daily where account_id = ${accountId} and day < ${untilDay}::date and day >=
            coalesce((select closed_until from usage_closings where account_id = ${accountId}), '-infinity')
        )
        insert into usage_closings as c (account_id, closing_until, closed_until)
        select ${accountId}, least(${untilDay}::date, day + 7), day from first where day is not null
        on conflict (account_id) do update set closing_until = greatest(c.closing_until, excluded.closing_until)
        returning 1`.execute(trx)
      return rows.length > 0
    })
  }

  /** Sums up the days that are being closed; false when there are none, or another process is at it. */
  async finish(accountId: string): Promise<boolean> {
    return this.#db.transaction().execute(async (trx) => {
      // Held to the end: a settlement that opens these days again waits for it.
      const { rows } = await sql<{ from: string; until: string }>`
        select closed_until as "from", closing_until as until from usage_closings
        where account_id = ${accountId} and closed_until < closing_until for update skip locked`.execute(trx)
      const [span] = rows
      if (span === undefined) return false
      await sumUp(trx, { accountId, ...span })
      await sql`update usage_closings set closed_until = closing_until where account_id = ${accountId}`.execute(trx)
      return true
    })
  }
}

async function sumUp(trx: Transaction<Database>, days: OpenDays): Promise<void> {
  const { accountId, from, until } = days
  const ofAccount = sql`account_id = ${accountId}`
  const ofHours = sql`${ofAccount} and hour >= ${`${from} 00:00:00+00`}::timestamptz`
  // What a day that was opened again had come to is void.
  await sql`delete from usage_daily_totals where ${ofAccount} and grain in ('all', 'line', 'model', 'key', 'total')
    and days in (1, 7, 28) and starts > ${from}::date - days`.execute(trx)
  await sql`delete from usage_hourly_totals where ${ofHours} and grain in ('model', 'key', 'total')`.execute(trx)
  await sumUpDays(trx, sql`${ofAccount} and day >= ${from} and day < ${until}`)
  await sumUpSpans(trx, { length: 7, parts: spansOf(1, accountId), days })
  await sumUpSpans(trx, {
    length: 7,
    parts: sql`select *, 'all' as grain, day as starts from usage_daily where ${ofAccount}`,
    days,
  })
  await sumUpSpans(trx, { length: 28, parts: spansOf(7, accountId), days })
  await sumUpHours(trx, sql`${ofHours} and hour < ${`${until} 00:00:00+00`}::timestamptz`)
}

function spansOf(length: SpanDays, accountId: string): RawBuilder<unknown> {
  return sql`select * from usage_daily_totals
    where account_id = ${accountId} and days = ${sql.lit(length)} and grain in ('all', 'line', 'model', 'key', 'total')`
}

async function sumUpDays(trx: Transaction<Database>, days: RawBuilder<unknown>): Promise<void> {
  await sql`insert into ${TOTALS}
    select account_id,
      case when grouping(line_type) = 0 then 'line' when grouping(sku) = 0 then 'model' when grouping(key_id) = 0 then 'key' else 'total' end,
      1, day, coalesce(key_id, ${NO_KEY}), coalesce(sku, ''), coalesce(line_type, ''), unit_type, currency,
      case grouping(sku) when 0 then max(model_name) else '' end, case grouping(sku) when 0 then max(model_type) end, ${SUMS}
    from usage_daily where ${days}
    group by account_id, day, unit_type, currency, grouping sets ((sku, line_type), (sku), (key_id), ())`.execute(trx)
}

/** Sums up the spans that end with the days that are being closed, each from its parts. */
async function sumUpSpans(
  trx: Transaction<Database>,
  { length, parts, days: { from, until } }: { length: SpanDays; parts: RawBuilder<unknown>; days: OpenDays },
): Promise<void> {
  const starts = sql`starts - (starts - ${sql.lit(FIRST_MONDAY)}::date) % ${sql.lit(length)}`
  const columns = sql`key_id, sku, line_type, unit_type, currency`
  await sql`insert into ${TOTALS}
    select account_id, grain, ${sql.lit(length)}, ${starts}, ${columns}, max(model_name), max(model_type), ${SUMS}
    from (${parts}) p
    where starts > ${from}::date - ${sql.lit(length)} and starts < ${until}
      and ${starts} > ${from}::date - ${sql.lit(length)} and ${starts} <= ${until}::date - ${sql.lit(length)}
    group by account_id, grain, ${starts}, ${columns}`.execute(trx)
}

async function sumUpHours(trx: Transaction<Database>, hours: RawBuilder<unknown>): Promise<void> {
  const measures = sql.join(HOUR_MEASURES.map((measure) => sql.ref(measure)))
  const sums = sql.join(HOUR_MEASURES.map((measure) => sql`sum(${sql.ref(measure)})`))
  await sql`insert into usage_hourly_totals (account_id, grain, hour, key_id, sku, unit_type, currency, model_type, ${measures})
    select account_id, case when grouping(sku) = 0 then 'model' when grouping(key_id) = 0 then 'key' else 'total' end, hour,
      coalesce(key_id, ${NO_KEY}), coalesce(sku, ''), unit_type, currency, case grouping(sku) when 0 then max(model_type) end, ${sums}
    from usage_hourly where ${hours}
    group by account_id, hour, unit_type, currency, grouping sets ((sku), (key_id), ())`.execute(trx)
}
