import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { utcDay } from '../clock.ts'

/** Days ahead that have a partition of their own; what falls outside them goes to the default one. */
const DAYS_AHEAD = 2
const MILLISECONDS_PER_DAY = 86_400_000
/** One process at a time makes partitions; the number is this job's own. */
const LOCK_NUMBER = 7_238_001

/** Daily partitions of the usage events, so that old days can be dropped whole instead of deleted row by row. */
export class UsagePartitionRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Makes sure that today and the next days have their partition; a day whose events began in the default one stays there. */
  async ensure(now: Date): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(${LOCK_NUMBER})`.execute(trx)
      for (let ahead = 0; ahead <= DAYS_AHEAD; ahead++) {
        const day = utcDay(new Date(now.getTime() + ahead * MILLISECONDS_PER_DAY))
        const next = utcDay(new Date(now.getTime() + (ahead + 1) * MILLISECONDS_PER_DAY))
        const begun = await sql`select 1 from usage_events_default where day = ${day}::date limit 1`.execute(trx)
        if (begun.rows.length > 0) continue
        const name = `usage_events_${day.replaceAll('-', '')}`
        await sql`create table if not exists ${sql.table(name)} partition of usage_events
          for values from (${sql.lit(day)}) to (${sql.lit(next)})`.execute(trx)
      }
    })
  }
}
