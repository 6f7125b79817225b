import { type Kysely, sql, type Transaction } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { isCheckViolation, isLockTimeout } from '../../database-failure.ts'
import { ledgerNow } from '../ledger-now-repository.ts'

/** The partitioned usage tables; each determines the names and the column of its partitions. */
export type UsagePartitions = 'usage_events' | 'usage_hourly' | 'usage_hourly_totals'

/** The days in the partition `key`, as `YYYY-MM-DD`; `until` is exclusive. */
export interface PartitionSpan {
  /** Suffix of the partition's name: `YYYYMMDD` for a day, `YYYYMM` for a month. */
  key: string
  from: string
  until: string
}

/** Advisory lock of this job, so that one process at a time creates or drops partitions. */
const LOCK_NUMBER = 7_238_001
/**
 * Creating and dropping locks the whole table for a moment, and everything else queues behind a waiting lock, so the wait
 * is short.
 */
const LOCK_TIMEOUT_MS = 500
const NO_KEY = '00000000-0000-0000-0000-000000000000'

const DAY_OF_HOUR = sql`(hour at time zone 'UTC')::date`
const DAYS = { usage_events: sql`day`, usage_hourly: DAY_OF_HOUR, usage_hourly_totals: DAY_OF_HOUR }
const COLUMNS = { usage_events: sql.ref('day'), usage_hourly: sql.ref('hour'), usage_hourly_totals: sql.ref('hour') }
/** Hourly rows are updated often, so their pages keep free space; all other rows are written once. */
const STORAGE = { usage_events: sql``, usage_hourly: sql`with (fillfactor = 70)`, usage_hourly_totals: sql`` }

const ADD_EXPIRED = sql`insert into usage_expired as x (account_id, key_id, currency, charge_nano)
  select account_id, coalesce(key_id, ${sql.lit(NO_KEY)}), currency, sum(charge_nano) from expired group by 1, 2, 3
  on conflict (account_id, key_id, currency) do update set charge_nano = x.charge_nano + excluded.charge_nano`

/** Partitions usage by time, so that old days and months are dropped as a whole instead of row by row. */
export class UsagePartitionRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  now(at: Date): Promise<Date> {
    return ledgerNow(this.#db, at)
  }

  async list(table: UsagePartitions): Promise<string[]> {
    const { rows } = await sql<{ key: string }>`
      select substr(c.relname, ${table.length + 2}) as key from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = ${table}::regclass and c.relname ~ '_[0-9]+$' order by 1`.execute(this.#db)
    return rows.map(({ key }) => key)
  }

  /**
   * Creates the partition of `span`, unless the default partition already has rows of its period, which then stay there.
   * False if the table was too busy; rows without a partition go to the default one.
   */
  async create(table: UsagePartitions, { key, from, until }: PartitionSpan): Promise<boolean> {
    return this.#alone(async (trx) => {
      const begun = await sql`select 1 from ${sql.table(`${table}_default`)}
        where ${COLUMNS[table]} >= ${midnight(from)} and ${COLUMNS[table]} < ${midnight(until)} limit 1`.execute(trx)
      if (begun.rows.length > 0) return
      await sql`create table if not exists ${sql.table(`${table}_${key}`)} partition of ${sql.table(table)}
        for values from (${sql.lit(midnight(from))}) to (${sql.lit(midnight(until))}) ${STORAGE[table]}`.execute(trx)
    })
  }

  /**
   * Drops a partition. The charges of its events are added to the expired total in the same transaction, so that events
   * and ledger still agree. False if the table was too busy.
   */
  async drop(table: UsagePartitions, key: string): Promise<boolean> {
    const partition = sql.table(`${table}_${key}`)
    return this.#alone(async (trx) => {
      const { rows } = await sql`select 1 where to_regclass(${`${table}_${key}`}) is not null`.execute(trx)
      if (rows.length === 0) return
      if (table === 'usage_events') {
        await sql`lock table ${partition} in share mode`.execute(trx)
        await sql`with expired as (select * from ${partition}) ${ADD_EXPIRED}`.execute(trx)
      }
      await sql`drop table ${partition}`.execute(trx)
    })
  }

  /**
   * Deletes the first day of the default partition if it is before `beforeDay`; false if not. Deletes whole days, so that
   * the remaining ones are complete.
   */
  async deleteFirstDay(table: UsagePartitions, beforeDay: string): Promise<boolean> {
    const partition = sql.table(`${table}_default`)
    const { rows } = await sql<{ day: string | null }>`select min(${DAYS[table]}) as day from ${partition}`.execute(
      this.#db,
    )
    const day = rows[0]?.day ?? null
    if (day === null || day >= beforeDay) return false
    const doomed = sql`delete from ${partition} where ${DAYS[table]} = ${day}`
    if (table === 'usage_events') {
      await sql`with expired as (${doomed} returning account_id, key_id, currency, charge_nano) ${ADD_EXPIRED}`.execute(
        this.#db,
      )
    } else await doomed.execute(this.#db)
    return true
  }

  /** False, with nothing changed, if a lock was not available in time. */
  async #alone(work: (trx: Transaction<Database>) => Promise<void>): Promise<boolean> {
    try {
      await this.#db.transaction().execute(async (trx) => {
        await sql`select pg_advisory_xact_lock(${LOCK_NUMBER})`.execute(trx)
        await sql`select set_config('lock_timeout', ${`${LOCK_TIMEOUT_MS}ms`}, true)`.execute(trx)
        await work(trx)
      })
      return true
    } catch (error) {
      // A row of the span came into the default partition between the look and the making.
      if (isLockTimeout(error) || isCheckViolation(error)) return false
      throw error
    }
  }
}

/** Midnight in UTC, whatever the session's time zone; a date column uses its day. */
function midnight(day: string): string {
  return `${day} 00:00:00+00`
}
