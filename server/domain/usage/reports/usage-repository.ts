import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { type AccountDays, ClosedDays, closedUntilOf } from '../closing/closed-days-repository.ts'
import { isTimeUnit } from './inputs.ts'
import { RPC_SKU_PREFIX, type UsageCube, type UsageDimension, type UsageMeasures, type UsageRow } from './usage.ts'
import { type UsageSelection, usageLines } from './usage-lines-repository.ts'

/** Sums of bigint and row counts arrive as numeric, in decimal text, on both engines. */
interface SelectedMeasures {
  requests: string | null
  units: string | null
  usd: string | null
  diem: string | null
}
type SelectedRow = Omit<UsageRow, keyof UsageMeasures | 'startsAt' | 'day'> &
  SelectedMeasures & {
    slot: number
    total_rows: bigint
    total_requests: string
    total_units: string | null
    total_usd: string
    total_diem: string
    closed_until: string
  }

const NETWORK = sql`case when unit_type = 'credits' then substr(sku, ${sql.lit(RPC_SKU_PREFIX.length + 1)}) end`
const API_KEY = sql`nullif(key_id, '00000000-0000-0000-0000-000000000000')`
const SLOT = sql`slot`

/** Text sorts by bytes, so that the order does not depend on the database's locale. */
const EXPRESSIONS: Record<UsageDimension, RawBuilder<unknown>> = {
  hour: SLOT,
  day: SLOT,
  week: SLOT,
  month: SLOT,
  sku: sql`sku collate "C"`,
  network: sql`${NETWORK} collate "C"`,
  method: sql`line_type collate "C"`,
  api_key: API_KEY,
  currency: sql`currency collate "C"`,
  unit_type: sql`unit_type collate "C"`,
  model_type: sql`model_type collate "C"`,
}

const COLUMNS: Record<UsageDimension, string> = {
  hour: 'slot',
  day: 'slot',
  week: 'slot',
  month: 'slot',
  sku: 'sku',
  network: 'network',
  method: 'method',
  api_key: 'apiKeyId',
  currency: 'currency',
  unit_type: 'unitType',
  model_type: 'modelType',
}

export class UsageRepository {
  readonly #db: Kysely<Database>
  readonly #closedDays: ClosedDays

  constructor(db: Kysely<Database>) {
    this.#db = db
    this.#closedDays = new ClosedDays(db)
  }

  /** Reads rows and totals in one statement, so that they are consistent. */
  async cube(accountId: string, selection: UsageSelection): Promise<Pick<UsageCube, 'rows' | 'totals' | 'truncated'>> {
    const { rows } = await this.#closedDays.read(accountId, (account) => this.#readRows(account, selection))
    const [first] = rows
    return {
      rows: rows.map((row) => toUsageRow(row, selection)),
      totals: toMeasures({
        requests: first?.total_requests ?? null,
        units: first === undefined ? '0' : first.total_units,
        usd: first?.total_usd ?? null,
        diem: first?.total_diem ?? null,
      }),
      truncated: first !== undefined && first.total_rows > BigInt(selection.rowsMax),
    }
  }

  async #readRows(account: AccountDays, selection: UsageSelection) {
    const { rows } = await cubeQuery(account, selection).execute(this.#db)
    // Without usage there is one row, which contains only the end of the closed days.
    const closedUntil = rows[0]?.closed_until ?? account.closedUntil
    return { closedUntil, rows: rows.filter(({ requests }) => requests !== null) }
  }
}

function cubeQuery(account: AccountDays, selection: UsageSelection): RawBuilder<SelectedRow> {
  const { dimensions, order, rowsMax } = selection
  const named = dimensions.map((dimension) => sql`${EXPRESSIONS[dimension]} as ${sql.ref(COLUMNS[dimension])}`)
  const columns = dimensions.map((dimension) => sql.ref(COLUMNS[dimension]))
  const toPosition = (_column: unknown, index: number) => sql.lit(index + 1)
  const byTime = order === 'time' ? dimensions.filter(isTimeUnit).map(() => SLOT) : []
  // A request has one first line, but may have lines of several methods.
  const ofRow = dimensions.includes('method') || selection.filter.methods != null ? sql`line_requests` : sql`requests`
  const ofTotals = selection.filter.methods == null ? sql`requests` : sql`line_requests`
  return sql<SelectedRow>`
    with line as (${usageLines(account, selection)}), cell as (
      select ${sql.join([
        ...named,
        sql`unit_type as unit`,
        sql`sum(${ofRow}) as requests`,
        sql`sum(${ofTotals}) as counted_requests`,
        sql`sum(units) as units`,
        sql`coalesce(sum(amount_nano) filter (where currency = 'usd'), 0) as usd`,
        sql`coalesce(sum(amount_nano) filter (where currency = 'diem'), 0) as diem`,
      ])}
      from line
      group by ${sql.join([...columns.map(toPosition), sql.lit(columns.length + 1)])}
      having sum(line_requests) > 0
    ), grouped as (
      select ${sql.join([
        ...columns,
        ...['requests', 'counted_requests', 'units', 'usd', 'diem'].map(
          (name) => sql`sum(${sql.ref(name)}) as ${sql.ref(name)}`,
        ),
        sql`min(unit) as first_unit`,
        sql`max(unit) as last_unit`,
      ])}
      from cell
      group by ${columns.length === 0 ? sql`()` : sql.join(columns.map(toPosition))}
      having count(*) > 0
    )
    select ${sql.join([
      ...columns,
      sql`requests`,
      sql`case when first_unit = last_unit then trim_scale(units)::text end as units`,
      sql`usd`,
      sql`diem`,
      sql`count(requests) over () as total_rows`,
      sql`sum(counted_requests) over () as total_requests`,
      sql`case when min(first_unit) over () = max(last_unit) over () then trim_scale(sum(units) over ())::text end
        as total_units`,
      sql`sum(usd) over () as total_usd`,
      sql`sum(diem) over () as total_diem`,
      sql`${closedUntilOf(account.accountId)} as closed_until`,
    ])}
    from (values (1)) always left join grouped on true
    order by ${sql.join([...byTime, sql`usd + diem desc`, ...columns])}
    limit ${sql.lit(rowsMax)}`
}

function toUsageRow(row: SelectedRow, { slots, dimensions }: UsageSelection): UsageRow {
  const slot = dimensions.some(isTimeUnit) ? slots[row.slot - 1] : undefined
  return {
    startsAt: slot?.startsAt ?? null,
    day: slot?.day ?? null,
    sku: row.sku ?? null,
    network: row.network ?? null,
    method: row.method ?? null,
    apiKeyId: row.apiKeyId ?? null,
    currency: row.currency ?? null,
    unitType: row.unitType ?? null,
    modelType: row.modelType ?? null,
    ...toMeasures(row),
  }
}

function toMeasures({ requests, units, usd, diem }: SelectedMeasures): UsageMeasures {
  const [usdNano, diemNano] = [BigInt(usd ?? 0), BigInt(diem ?? 0)]
  return { requests: Number(requests ?? 0), units, amountNanoUsd: usdNano + diemNano, usdNano, diemNano }
}
