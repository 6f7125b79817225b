import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { addDays } from '../../clock.ts'
import type { UsageModelType, UsageUnitType } from '../../metering/hold.ts'
import {
  type AccountDays,
  ClosedDays,
  closedDays,
  closedSpans,
  closedUntilOf,
  openDays,
} from '../closing/closed-days-repository.ts'
import type { UsageGrain } from '../closing/usage-roll-ups.ts'
import { daysOf, type UsageRange } from './usage-range.ts'

/** Amounts are decimal text of nano-USD, units decimal text: JSON numbers have only 53 bits. */
interface Sums {
  usd: string
  diem: string
  units: string
}
export type ModelLineSums = Sums & {
  modelName: string
  modelType: UsageModelType | null
  unitType: UsageUnitType
  lineType: string
  modelUnits: string
}
export type KeySums = Sums & { keyId: string; description: string | null; last6Chars: string | null }
export type DaySums = Pick<Sums, 'usd' | 'diem'> & { day: string }

export interface AnalyticsSums {
  days: DaySums[]
  /** Ordered by model, most expensive first. */
  lines: ModelLineSums[]
  topModels: string[]
  modelDays: { day: string; name: string; diem: string }[]
  /** Most expensive first. */
  keys: KeySums[]
  topKeyIds: string[]
  keyDays: { day: string; keyId: string; diem: string }[]
}

/** Parts are null if there are no rows to aggregate. */
type FoundSums = { [Part in keyof AnalyticsSums]: AnalyticsSums[Part] | null } & { closedUntil: string }

const USD = sql`coalesce(sum(amount_nano) filter (where currency = 'usd'), 0)`
const DIEM = sql`coalesce(sum(amount_nano) filter (where currency = 'diem'), 0)`
const SUMS = sql`${USD}::text as usd, ${DIEM}::text as diem`
const LINE = sql`select sku, unit_type, line_type, currency, model_name, model_type, units, amount_nano`
const MODEL = sql`select day, sku, currency, amount_nano`
const KEY = sql`select day, key_id, currency, units, amount_nano`
const SUMS_WITH_UNITS = sql`${SUMS}, trim_scale(sum(units))::text as units`

/** Reads the usage sums of one account's report on a range of days. */
export class UsageAnalyticsRepository {
  readonly #db: Kysely<Database>
  readonly #closedDays: ClosedDays

  constructor(db: Kysely<Database>) {
    this.#db = db
    this.#closedDays = new ClosedDays(db)
  }

  /** Reads the whole report in one statement, so that it is consistent; charts have `topMax` names. */
  async read(accountId: string, range: UsageRange, topMax: number): Promise<AnalyticsSums> {
    return this.#closedDays.read(accountId, async (account) => {
      const rows = rowsOf(account, range)
      const [found] = (
        await sql<FoundSums>`with ${sums(rows, topMax)} select ${parts(rows, accountId)}`.execute(this.#db)
      ).rows
      return {
        closedUntil: found?.closedUntil ?? account.closedUntil,
        days: found?.days ?? [],
        lines: found?.lines ?? [],
        topModels: found?.topModels ?? [],
        modelDays: found?.modelDays ?? [],
        keys: found?.keys ?? [],
        topKeyIds: found?.topKeyIds ?? [],
        keyDays: found?.keyDays ?? [],
      }
    })
  }
}

/** Rows of closed days by grain, either the fewest that cover the range or one set per day, and rows of open days. */
interface ReportRows {
  inSum: (grain: UsageGrain) => RawBuilder<unknown>
  byDay: (grain: UsageGrain) => RawBuilder<unknown>
  open: RawBuilder<unknown>
}

function rowsOf(account: AccountDays, range: UsageRange): ReportRows {
  const end = addDays(range.to, 1)
  const spans = closedSpans(account, [range.from, end])
  const days = closedSpans(account, [...daysOf(range), end])
  return {
    inSum: (grain) => closedDays(account, grain, spans),
    byDay: (grain) => closedDays(account, grain, days),
    open: openDays(account, [range.from, end]),
  }
}

/** Subqueries that several parts of the report share. */
function sums({ open, inSum }: ReportRows, topMax: number): RawBuilder<unknown> {
  return sql`open as materialized (
      -- By key, and by model and line without one: every part of the report reads it, so it is read once, in few rows.
      select day, key_id, sku, line_type, unit_type, currency, max(model_name) as model_name, max(model_type) as model_type,
        sum(units) as units, sum(amount_nano)::bigint as amount_nano
      from (${open}) o group by day, unit_type, currency, grouping sets ((sku, line_type), (key_id))
    ), line as (
      -- By few columns, so that the database expects few groups and hashes them instead of sorting the many rows.
      select sku, unit_type, line_type, max(model_name collate "C") as model_name, max(model_type collate "C") as model_type,
        ${USD} as usd, ${DIEM} as diem, sum(units) as units
      from (${LINE} from (${inSum('line')}) c union all ${LINE} from open where key_id is null) l group by 1, 2, 3
    ), lines as materialized (
      select model_name, model_type, unit_type, line_type, sum(usd)::text as usd, sum(diem)::text as diem,
        trim_scale(sum(units))::text as units, sum(usd + diem) as total,
        sum(sum(usd + diem)) over of_model as model_total, trim_scale(sum(sum(units)) over of_model)::text as model_units,
        array_agg(distinct sku) as skus
      from line group by 1, 2, 3, 4
      window of_model as (partition by model_name, model_type, unit_type)
    ), top_models as materialized (
      select model_name, sum(total) as total from lines group by 1 order by 2 desc, model_name collate "C" limit ${topMax}
    ), top_skus as materialized (
      select sku, min(model_name collate "C") as model_name
      from lines l join top_models using (model_name) cross join unnest(l.skus) sku group by 1
    ), key_totals as materialized (
      select key_id, ${SUMS_WITH_UNITS}, sum(amount_nano) as total
      from (${KEY} from (${inSum('key')}) c union all ${KEY} from open where key_id is not null) k group by 1
    ), top_keys as materialized (
      select key_id, total from key_totals order by total desc, key_id limit ${topMax}
    )`
}

function parts({ byDay }: ReportRows, accountId: string): RawBuilder<unknown> {
  return sql`
    ${closedUntilOf(accountId)} as "closedUntil",
    (select json_agg(d) from (
      select day, ${SUMS} from (${KEY} from (${byDay('total')}) c union all ${KEY} from open where key_id is not null) t group by 1
    ) d) as days,
    (select json_agg(json_build_object('modelName', l.model_name, 'modelType', l.model_type, 'unitType', l.unit_type,
        'lineType', l.line_type, 'usd', l.usd, 'diem', l.diem, 'units', l.units, 'modelUnits', l.model_units)
        order by l.model_total desc, l.model_name collate "C", l.unit_type, l.total desc, l.line_type collate "C")
      from lines l) as lines,
    (select json_agg(model_name order by total desc, model_name collate "C") from top_models) as "topModels",
    (select json_agg(d) from (
      select day, top.model_name as name, sum(amount_nano)::text as diem
      from (${MODEL} from (${byDay('model')}) c union all ${MODEL} from open where key_id is null) m join top_skus top using (sku)
      where currency = 'diem' and sku = any(array(select sku from top_skus)) group by 1, 2
    ) d) as "modelDays",
    (select json_agg(json_build_object('keyId', t.key_id, 'usd', t.usd, 'diem', t.diem, 'units', t.units,
        'description', a.description, 'last6Chars', a.last6_chars) order by t.total desc, t.key_id)
      from key_totals t left join api_keys a on a.account_id = ${accountId} and a.key_id = t.key_id) as keys,
    (select json_agg(key_id order by total desc, key_id) from top_keys) as "topKeyIds",
    (select json_agg(d) from (
      select day, key_id as "keyId", sum(amount_nano)::text as diem
      from (${KEY} from (${byDay('key')}) c union all ${KEY} from open where key_id is not null) k
      where currency = 'diem' and key_id = any(array(select key_id from top_keys)) group by 1, 2
    ) d) as "keyDays"`
}
