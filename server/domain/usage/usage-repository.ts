import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { UsageFilter } from './inputs.ts'
import { RPC_SKU_PREFIX, type UsageDimension, type UsageReport, type UsageRow } from './usage.ts'

export interface UsageSelection {
  from: string
  to: string
  dimensions: readonly UsageDimension[]
  filter: UsageFilter
  rowsMax: number
}

/** Sums of bigint and counts of rows come as numeric, decimal text on both engines. */
type SelectedRow = Omit<UsageRow, 'requests' | 'amountNanoUsd'> & {
  requests: string
  amount: string
  total_rows: bigint
  total_requests: string
  total_units: string | null
  total_amount: string
}

const NETWORK = sql`case when unit_type = 'credits' then substr(sku, ${sql.lit(RPC_SKU_PREFIX.length + 1)}) end`
const API_KEY = sql`nullif(key_id, '00000000-0000-0000-0000-000000000000')`

/** Texts sort by their bytes, so that the order does not depend on the database's locale. */
const EXPRESSIONS: Record<UsageDimension, RawBuilder<unknown>> = {
  day: sql`day`,
  sku: sql`sku collate "C"`,
  network: sql`${NETWORK} collate "C"`,
  method: sql`line_type collate "C"`,
  api_key: API_KEY,
  currency: sql`currency collate "C"`,
  unit_type: sql`unit_type collate "C"`,
}

const COLUMNS: Record<UsageDimension, string> = {
  day: 'day',
  sku: 'sku',
  network: 'network',
  method: 'method',
  api_key: 'apiKeyId',
  currency: 'currency',
  unit_type: 'unitType',
}

/** Daily roll-ups of usage. */
export class UsageRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Rows and totals in one statement, so that they are of one moment. */
  async report(accountId: string, selection: UsageSelection): Promise<Omit<UsageReport, 'from' | 'to'>> {
    const { rows } = await reportQuery(accountId, selection).execute(this.#db)
    const [first] = rows
    return {
      rows: rows.map(toUsageRow),
      totals: {
        requests: Number(first?.total_requests ?? 0),
        units: first === undefined ? '0' : first.total_units,
        amountNanoUsd: BigInt(first?.total_amount ?? 0),
      },
      truncated: first !== undefined && first.total_rows > BigInt(selection.rowsMax),
    }
  }
}

function reportQuery(accountId: string, selection: UsageSelection): RawBuilder<SelectedRow> {
  const { dimensions, rowsMax } = selection
  const named = dimensions.map((dimension) => sql`${EXPRESSIONS[dimension]} as ${sql.ref(COLUMNS[dimension])}`)
  const columns = dimensions.map((dimension) => sql.ref(COLUMNS[dimension]))
  const positions = dimensions.map((_dimension, index) => sql.lit(index + 1))
  return sql<SelectedRow>`
    with grouped as (
      select ${sql.join([
        ...named,
        sql`sum(requests) as requests`,
        sql`sum(units) as units`,
        sql`sum(amount_nano) as amount`,
        sql`min(unit_type) as first_unit`,
        sql`max(unit_type) as last_unit`,
      ])}
      from usage_daily
      where ${sql.join(conditions(accountId, selection), sql` and `)}
      group by ${positions.length === 0 ? sql`()` : sql.join(positions)}
      having count(*) > 0
    )
    select ${sql.join([
      ...columns,
      sql`requests`,
      sql`case when first_unit = last_unit then trim_scale(units)::text end as units`,
      sql`amount`,
      sql`count(*) over () as total_rows`,
      sql`sum(requests) over () as total_requests`,
      sql`case when min(first_unit) over () = max(last_unit) over () then trim_scale(sum(units) over ())::text end
        as total_units`,
      sql`sum(amount) over () as total_amount`,
    ])}
    from grouped
    order by ${sql.join([sql`amount desc`, ...columns])}
    limit ${sql.lit(rowsMax)}`
}

function conditions(accountId: string, { from, to, filter }: UsageSelection): RawBuilder<unknown>[] {
  const all = [sql`account_id = ${accountId}`, sql`day between ${from} and ${to}`]
  const { skus, networks, apiKeyIds, currencies } = filter
  if (skus != null) all.push(sql`sku in (${sql.join(skus)})`)
  if (networks != null) {
    const networkSkus = networks.map((network) => RPC_SKU_PREFIX + network)
    all.push(sql`unit_type = 'credits' and sku in (${sql.join(networkSkus)})`)
  }
  if (apiKeyIds != null) all.push(sql`key_id in (${sql.join(apiKeyIds)})`)
  if (currencies != null) all.push(sql`currency in (${sql.join(currencies)})`)
  return all
}

function toUsageRow(row: SelectedRow): UsageRow {
  return {
    day: row.day ?? null,
    sku: row.sku ?? null,
    network: row.network ?? null,
    method: row.method ?? null,
    apiKeyId: row.apiKeyId ?? null,
    currency: row.currency ?? null,
    unitType: row.unitType ?? null,
    requests: Number(row.requests),
    units: row.units,
    amountNanoUsd: BigInt(row.amount),
  }
}
