import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { UsageEventRow } from '../../db/tables/usage-events-table.ts'
import type { UsageModelType, UsageOutcome, UsageUnitType } from '../metering/hold.ts'
import type { RequestFilter } from './inputs.ts'
import type { RecordedRequest, RequestRecord } from './request-record.ts'

/** Position of a request in the log: its admission day, then its id, which ascends with time. */
export interface LogPlace {
  day: string
  /** With dashes, as in the database. */
  requestId: string
}

export interface LogScan {
  fromDay: string
  toDay: string
  before: LogPlace | null
  filter: RequestFilter
  limit: number
  scannedMax: number
}

export interface LogScanResult {
  records: RequestRecord[]
  /** Where the scan stopped before its last day; null if it is complete. */
  stoppedAt: LogPlace | null
}

type ScanRow = UsageEventRow & { last_day: string | null; last_request_id: string | null; scanned: bigint }

export class RequestRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Newest first, by a backward scan of the primary key of the daily partitions, limited by days and rows. */
  async scan(accountId: string, scan: LogScan): Promise<LogScanResult> {
    const { rows } = await sql<ScanRow>`
      with scanned as materialized (
        select * from usage_events where ${sql.join(scanConditions(accountId, scan), sql` and `)}
        order by day desc, request_id desc limit ${scan.scannedMax}
      ), reached as (
        select count(*) as scanned, min(day) as last_day from scanned
      )
      select e.*, r.scanned, r.last_day,
        (select s.request_id from scanned s where s.day = r.last_day order by s.request_id limit 1) as last_request_id
      from reached r left join (
        select * from scanned where ${sql.join(matchConditions(scan.filter), sql` and `)}
        order by day desc, request_id desc limit ${scan.limit}
      ) e on true
      order by e.day desc, e.request_id desc`.execute(this.#db)
    const [first] = rows
    const records = rows.filter((row) => row.request_id !== null).map(toRequestRecord)
    const whole = first === undefined || first.scanned < BigInt(scan.scannedMax) || first.last_day === null
    const stoppedAt = whole ? null : { day: first.last_day ?? '', requestId: first.last_request_id ?? '' }
    return { records, stoppedAt }
  }

  /** Results by request id; ids and days as in the database. */
  async find(accountId: string, requests: readonly LogPlace[]): Promise<Map<string, RequestRecord>> {
    const days = [...new Set(requests.map(({ day }) => day))]
    const ids = [...new Set(requests.map(({ requestId }) => requestId))]
    const rows = await this.#db
      .selectFrom('usage_events')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('day', 'in', days)
      .where('request_id', 'in', ids)
      .execute()
    return new Map(rows.map((row) => [row.request_id, toRequestRecord(row)]))
  }

  /** The position after which the account's next request will be. */
  async lastPosition(accountId: string, fromDay: string): Promise<bigint> {
    const row = await this.#db
      .selectFrom('usage_events')
      .select(({ fn }) => fn.max('position').as('position'))
      .where('account_id', '=', accountId)
      .where('day', '>=', fromDay)
      .executeTakeFirst()
    return row?.position ?? 0n
  }

  /** The position of the `count`th newest request after `after`; undefined if there are fewer. */
  async positionFromEnd(accountId: string, after: FeedPosition, count: number): Promise<bigint | undefined> {
    const row = await this.#db
      .selectFrom('usage_events')
      .select('position')
      .where('account_id', '=', accountId)
      .where('day', '>=', after.fromDay)
      .where('position', '>', after.position)
      .orderBy('position', 'desc')
      .offset(count - 1)
      .limit(1)
      .executeTakeFirst()
    return row?.position ?? undefined
  }

  /** Requests settled after each account's position, in that order, at most `limit` per account. */
  async listSettled(accounts: ReadonlyMap<string, FeedPosition>, limit: number): Promise<RecordedRequest[]> {
    const items = [...accounts].map(([account_id, { position }]) => ({ account_id, position: position.toString() }))
    const fromDay = [...accounts.values()].reduce(
      (first, { fromDay: day }) => (day < first ? day : first),
      '9999-12-31',
    )
    const { rows } = await sql<UsageEventRow>`
      select e.* from json_to_recordset(${JSON.stringify(items)}::json) as w (account_id uuid, position bigint)
      cross join lateral (
        select * from usage_events e
        where e.account_id = w.account_id and e.position > w.position and e.day >= ${fromDay}
        order by e.position limit ${limit}
      ) e
      order by e.account_id, e.position`.execute(this.#db)
    return rows.map((row) => ({ ...toRequestRecord(row), position: row.position ?? 0n }))
  }
}

/** A position, and the earliest admission day of requests after it. */
export interface FeedPosition {
  position: bigint
  fromDay: string
}

function scanConditions(accountId: string, { fromDay, toDay, before }: LogScan): RawBuilder<unknown>[] {
  const all = [sql`account_id = ${accountId}`, sql`day between ${fromDay} and ${toDay}`]
  if (before !== null) all.push(sql`(day, request_id) < (${before.day}::date, ${before.requestId}::uuid)`)
  return all
}

function matchConditions({ from, to, apiKeyIds, skus, outcomes }: RequestFilter): RawBuilder<unknown>[] {
  const all = [sql`true`]
  if (from != null) all.push(sql`admitted_at >= ${from}`)
  if (to != null) all.push(sql`admitted_at < ${to}`)
  if (apiKeyIds != null) all.push(sql`key_id in (${sql.join(apiKeyIds)})`)
  if (skus != null) all.push(sql`sku in (${sql.join(skus)})`)
  if (outcomes != null) all.push(sql`outcome in (${sql.join(outcomes)})`)
  return all
}

/** In the form written by `settle_holds`; the database returns text unmodified. */
interface LineJson {
  type: string
  units: number
  amount: string
  price?: string
}

function toRequestRecord(row: UsageEventRow): RequestRecord {
  return {
    requestId: row.request_id.replaceAll('-', ''),
    accountId: row.account_id,
    keyId: row.key_id,
    sku: row.sku,
    modelName: row.model_name,
    modelType: row.model_type as UsageModelType | null,
    unitType: row.unit_type as UsageUnitType,
    currency: row.currency,
    holdNanoUsd: row.hold_nano,
    chargeNanoUsd: row.charge_nano,
    lines: (row.lines as LineJson[]).map(({ type, units, amount, price }) => ({
      type,
      units,
      amountNanoUsd: BigInt(amount),
      unitPriceUsd: price ?? null,
    })),
    outcome: row.outcome as UsageOutcome,
    estimated: row.estimated,
    upstreamId: row.upstream_id,
    retries: row.retries,
    durationMs: row.duration_ms,
    admittedAt: row.admitted_at,
    settledAt: row.settled_at,
  }
}
