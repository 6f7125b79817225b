import { type RawBuilder, sql } from 'kysely'
import { CELLS, EVENT_CHECKS, events, HOUR_CELLS, ROLL_UP_CHECKS } from './event-checks-repository.ts'
import { type ReadSnapshot, type Snapshot, unionOf } from './snapshot-repository.ts'
import type { Violation } from './verification.ts'
import { FIRST_ID, type StepOptions, type VerifyPosition, type VerifyStep } from './verify-scan.ts'

interface AccountDay {
  account: string
  day: string
}

interface Slice {
  partition: string
  after: AccountDay
  rows: number
}

/**
 * Checks each usage event against its charge, and all events of an account's day against its roll-ups. Reads each
 * partition in the order of accounts and days.
 */
export const eventScan = {
  name: 'events',

  async step(read: ReadSnapshot, { position, rows }: StepOptions): Promise<VerifyStep> {
    const step = await read((snapshot) => readSlice(snapshot, position, rows))
    if (!('large' in step)) return step
    const { partition, large } = step
    const violations = await checkLargeDay(read, { partition, after: large, rows })
    return { violations, next: toPosition(partition, large) }
  },
}

async function readSlice(
  snapshot: Snapshot,
  position: VerifyPosition,
  rows: number,
): Promise<VerifyStep | { partition: string; large: AccountDay }> {
  const begun = position.within?.['partition'] ?? ''
  const partition = await partitionFrom(snapshot, begun)
  if (partition === undefined) return { violations: [], next: null }
  const slice = { partition, after: partition === begun ? toAccountDay(position) : BEFORE_ALL, rows }
  const { until, large } = await nextDays(snapshot, slice)
  if (large !== null) return { partition, large }
  const violations = await checkDays(snapshot, slice, until)
  return { violations, next: until === null ? toPosition(`${partition}~`, BEFORE_ALL) : toPosition(partition, until) }
}

const BEFORE_ALL: AccountDay = { account: FIRST_ID, day: '-infinity' }

function toAccountDay({ after, within }: VerifyPosition): AccountDay {
  return { account: after, day: within?.['day'] ?? '-infinity' }
}

function toPosition(partition: string, { account, day }: AccountDay): VerifyPosition {
  return { after: account, within: { partition, day } }
}

/** The partition with this name, or the next one if it is read or dropped. */
async function partitionFrom(snapshot: Snapshot, name: string): Promise<string | undefined> {
  const [row] = await snapshot.rows<{ name: string }>(sql`select c.relname::text as name
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'usage_events'::regclass and c.relname::text collate "C" >= ${name} order by c.relname collate "C" limit 1`)
  return row?.name
}

/**
 * The last account and day whose events all fit into the slice; null if all remaining ones do. `large`: not even the
 * first one does.
 */
async function nextDays(snapshot: Snapshot, { partition, after, rows }: Slice) {
  const behind = sql`from ${sql.table(partition)} where (account_id, day) > (${after.account}::uuid, ${after.day}::date)`
  const [beyond] = await snapshot.rows<AccountDay>(sql`select account_id as account, day ${behind}
    order by account_id, day, request_id offset ${rows} limit 1`)
  if (beyond === undefined) return { until: null, large: null }
  const [last] = await snapshot.rows<AccountDay>(sql`select account_id as account, day ${behind}
    and (account_id, day) < (${beyond.account}::uuid, ${beyond.day}::date) order by account_id desc, day desc limit 1`)
  return last === undefined ? { until: null, large: beyond } : { until: last, large: null }
}

async function checkDays(
  snapshot: Snapshot,
  { partition, after }: Slice,
  until: AccountDay | null,
): Promise<Violation[]> {
  const upTo = until === null ? sql`` : sql`and (u.account_id, u.day) <= (${until.account}::uuid, ${until.day}::date)`
  const where = sql`(u.account_id, u.day) > (${after.account}::uuid, ${after.day}::date) ${upTo}`
  return snapshot.rows<Violation>(sql`with e as materialized (${events(sql.table(partition), where)}),
    cells as materialized (${CELLS}),
    days as materialized (select distinct account_id, day from e),
    daily as (select d.* from days g cross join lateral (
      select * from usage_daily d where d.account_id = g.account_id and d.day = g.day offset 0) d),
    hourly as (select h.* from days g cross join lateral (
      select * from usage_hourly h where h.account_id = g.account_id and h.hour >= g.day::timestamp at time zone 'UTC'
        and h.hour < (g.day + 1)::timestamp at time zone 'UTC' offset 0) h),
    hour_cells as (${HOUR_CELLS})
    ${unionOf([...EVENT_CHECKS, ...ROLL_UP_CHECKS])}`)
}

const CELL_COLUMNS = sql`account_id uuid, day date, hour timestamptz, quarter integer, key_id uuid, sku text,
  line_type text, currency text, requests bigint, line_requests bigint, units numeric, amount_nano bigint`

/**
 * A day too large for a slice is read in parts. The first snapshot stores its roll-ups and the account's last event
 * position. Positions ascend in commit order, so the events up to that position are those of the roll-ups.
 */
async function checkLargeDay(
  read: ReadSnapshot,
  { partition, after: { account, day }, rows }: Slice,
): Promise<Violation[]> {
  const table = sql.table(partition)
  const ofDay = sql`u.account_id = ${account}::uuid and u.day = ${day}::date`
  const [noted] = await read((snapshot) =>
    snapshot.rows<{ last: string; daily: string; hourly: string }>(sql`select
      coalesce((select max(u.position) from ${table} u where u.account_id = ${account}::uuid), 0)::text as last,
      coalesce((select json_agg(d) from usage_daily d where d.account_id = ${account}::uuid and d.day = ${day}::date), '[]')::text as daily,
      coalesce((select json_agg(h) from usage_hourly h where h.account_id = ${account}::uuid
        and h.hour >= ${day}::date::timestamp at time zone 'UTC' and h.hour < (${day}::date + 1)::timestamp at time zone 'UTC'), '[]')::text as hourly`),
  )
  if (noted === undefined) return []
  const violations: Violation[] = []
  let cells = '[]'
  let request: string | null = FIRST_ID
  while (request !== null) {
    const where: RawBuilder<unknown> = sql`${ofDay} and u.position <= ${noted.last}::bigint and u.request_id > ${request}::uuid`
    const part = await read((snapshot) => readPart(snapshot, { table, where, cells, rows }))
    violations.push(...part.violations)
    cells = part.cells
    request = part.request
  }
  const compared = await read((snapshot) => snapshot.rows<Violation>(compareNoted({ ...noted, cells })))
  return [...violations, ...compared]
}

interface DayPart {
  table: RawBuilder<unknown>
  where: RawBuilder<unknown>
  /** Cells of the previous parts, as JSON. */
  cells: string
  rows: number
}

async function readPart(
  snapshot: Snapshot,
  { table, where, cells, rows }: DayPart,
): Promise<{ violations: Violation[]; cells: string; request: string | null }> {
  const [end] = await snapshot.rows<{ request: string | null }>(sql`select request_id as request from ${table} u
    where ${where} order by u.request_id offset ${rows - 1} limit 1`)
  const upTo = end?.request == null ? sql`` : sql`and u.request_id <= ${end.request}::uuid`
  const from = sql`with e as materialized (${events(table, sql`${where} ${upTo}`)})`
  const violations = await snapshot.rows<Violation>(sql`${from} ${unionOf(EVENT_CHECKS)}`)
  const [row] = await snapshot.rows<{
    cells: string
  }>(sql`${from} select coalesce(json_agg(s), '[]')::text as cells from (
      select account_id, day, hour, quarter, key_id, sku, line_type, currency, sum(requests) as requests,
        sum(line_requests) as line_requests, sum(units) as units, sum(amount_nano) as amount_nano
      from (${CELLS} union all select * from json_to_recordset(${cells}::json) as c(${CELL_COLUMNS})) c
      group by 1, 2, 3, 4, 5, 6, 7, 8) s`)
  return { violations, cells: row?.cells ?? '[]', request: end?.request ?? null }
}

function compareNoted({ cells, daily, hourly }: Record<'cells' | 'daily' | 'hourly', string>): RawBuilder<Violation> {
  return sql`with cells as materialized (select * from json_to_recordset(${cells}::json) as c(${CELL_COLUMNS})),
    daily as (select * from json_populate_recordset(null::usage_daily, ${daily}::json)),
    hourly as (select * from json_populate_recordset(null::usage_hourly, ${hourly}::json)),
    hour_cells as (${HOUR_CELLS})
    ${unionOf(ROLL_UP_CHECKS)}`
}
