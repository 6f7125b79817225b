import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { UsageModelType, UsageUnitType } from '../metering/hold.ts'
import { daysOf, type UsageRange } from './usage-range.ts'

/** Amounts are decimal text of nano-USD, units decimal text: JSON numbers end at 53 bits. */
interface Sums {
  usd: string
  diem: string
  units: string
}
export type ModelLineSums = Sums & {
  model_name: string
  model_type: UsageModelType | null
  unit_type: UsageUnitType
  line_type: string
  /** Of all lines of the model. */
  model_units: string
}
export type KeySums = Sums & { key_id: string; description: string | null; last6_chars: string | null }
export type DaySums = Pick<Sums, 'usd' | 'diem'> & { day: string }

export interface AnalyticsSums {
  days: DaySums[]
  /** Of the costliest model first. */
  lines: ModelLineSums[]
  topModels: string[]
  modelDays: { day: string; name: string; diem: string }[]
  /** The costliest first. */
  keys: KeySums[]
  topKeyIds: string[]
  keyDays: { day: string; key_id: string; diem: string }[]
}

const NO_KEY = '00000000-0000-0000-0000-000000000000'
const USD = sql`coalesce(sum(amount_nano) filter (where currency = 'usd'), 0)`
const DIEM = sql`coalesce(sum(amount_nano) filter (where currency = 'diem'), 0)`
const SUMS = sql`${USD}::text as usd, ${DIEM}::text as diem`
const SUMS_WITH_UNITS = sql`${SUMS}, trim_scale(sum(units))::text as units`

/** Daily totals by model and by key, as one account's report of a range of days. */
export class UsageAnalyticsRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Everything of a report in one statement, so that all of it is of one moment; charts have `topMax` names. */
  async read(accountId: string, { from, to }: UsageRange, topMax: number): Promise<AnalyticsSums> {
    const ofRange = (grain: 'model' | 'key') =>
      sql`from usage_daily_totals where account_id = ${accountId} and grain = ${sql.lit(grain)} and day between ${from} and ${to}`
    const { rows } = await sql<{ [Part in keyof AnalyticsSums]: AnalyticsSums[Part] | null }>`
      with line as (
        -- By few columns, so that the database expects few groups and hashes them instead of sorting the many rows.
        select sku, unit_type, line_type, max(model_name collate "C") as model_name, max(model_type collate "C") as model_type,
          ${USD} as usd, ${DIEM} as diem, sum(units) as units
        ${ofRange('model')} group by 1, 2, 3
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
      ), key as materialized (
        select day, key_id, currency, units, amount_nano ${ofRange('key')}
      ), key_totals as (
        select key_id, ${SUMS_WITH_UNITS}, sum(amount_nano) as total from key group by 1 order by total desc, key_id
      ), top_keys as materialized (
        select key_id, total from key_totals limit ${topMax}
      )
      select
        (select json_agg(d) from (select day, ${SUMS} from key group by 1) d) as days,
        (select json_agg(l order by l.model_total desc, l.model_name collate "C", l.unit_type, l.total desc, l.line_type collate "C")
          from lines l) as lines,
        (select json_agg(model_name order by total desc, model_name collate "C") from top_models) as "topModels",
        (select json_agg(d) from (
          -- Days and names one by one: a look-up of each in the primary key, where a range would read every model of every day.
          select day, top.model_name as name, sum(amount_nano)::text as diem
          from usage_daily_totals join top_skus top using (sku)
          where account_id = ${accountId} and grain = 'model' and day = any(${daysOf({ from, to })}::date[])
            and key_id = ${NO_KEY} and currency = 'diem'
            and sku = any(array(select sku from top_skus))
          group by 1, 2
        ) d) as "modelDays",
        (select json_agg(k order by k.total desc, k.key_id) from (
          select t.*, a.description, a.last6_chars from key_totals t
          left join api_keys a on a.account_id = ${accountId} and a.key_id = t.key_id
        ) k) as keys,
        (select json_agg(key_id order by total desc, key_id) from top_keys) as "topKeyIds",
        (select json_agg(d) from (
          select day, key_id, sum(amount_nano)::text as diem from key
          where currency = 'diem' and key_id in (select key_id from top_keys) group by 1, 2
        ) d) as "keyDays"`.execute(this.#db)
    const [found] = rows
    return {
      days: found?.days ?? [],
      lines: found?.lines ?? [],
      topModels: found?.topModels ?? [],
      modelDays: found?.modelDays ?? [],
      keys: found?.keys ?? [],
      topKeyIds: found?.topKeyIds ?? [],
      keyDays: found?.keyDays ?? [],
    }
  }
}

export function keyIdOrNull(keyId: string): string | null {
  return keyId === NO_KEY ? null : keyId
}
