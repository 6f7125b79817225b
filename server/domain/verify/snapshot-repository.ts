import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { CheckId, Violation } from './verification.ts'
import type { AccountRange } from './verify-scan.ts'

/** Maximum age of a snapshot, since rows that it can see cannot be pruned. */
const SNAPSHOT_MS = 1_500
const CANCELED = '57014'
const LOCK_NOT_AVAILABLE = '55P03'

export interface Snapshot {
  rows<Row>(statement: RawBuilder<Row>): Promise<Row[]>
  /** The places where an invariant is broken: `statement` selects one text column, `place`. */
  violations(id: CheckId, statement: RawBuilder<unknown>): Promise<Violation[]>
}

const VIOLATIONS_MAX = 50

export type ReadSnapshot = <Result>(work: (snapshot: Snapshot) => Promise<Result>) => Promise<Result>

/** Short read-only snapshots for verification; they also work on a standby. */
export class SnapshotRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Returns a reader whose statements are canceled after 1.5 s unless it is `unlimited`. */
  reader({ unlimited }: { unlimited: boolean }): ReadSnapshot {
    return (work) =>
      this.#db
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(async (trx) => {
          await sql`set local lock_timeout = '1s'`.execute(trx)
          await sql`set local statement_timeout = ${sql.lit(unlimited ? 0 : SNAPSHOT_MS)}`.execute(trx)
          // A slice is a small part of every table, even if the planner estimates the tables as small.
          await sql`set local enable_seqscan = off`.execute(trx)
          // Locked before the snapshot is taken, so that no partition it shows is dropped while it is read.
          await sql`lock table usage_events, usage_hourly, usage_hourly_totals in access share mode`.execute(trx)
          return work({
            rows: async <Row>(statement: RawBuilder<Row>) => (await statement.execute(trx)).rows,
            violations: async (id, statement) => {
              const { rows } = await sql<{ place: string }>`
                select place from (${statement}) v limit ${VIOLATIONS_MAX}`.execute(trx)
              return rows.map(({ place }) => ({ id, place }))
            },
          })
        })
  }
}

/** True if a slice took too long, or waited too long for a lock. */
export function isSliceTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === CANCELED || error.code === LOCK_NOT_AVAILABLE)
}

/** Condition that selects the rows of `alias` whose account is in the range. */
export function inRange(alias: string, { after, until }: AccountRange): RawBuilder<boolean> {
  const account = sql.ref(`${alias}.account_id`)
  return sql`${account} > ${after}::uuid and ${account} <= ${until}::uuid`
}

/** The first month with a partition of hours, null if there is none: earlier hours may have been dropped. */
export const FIRST_MONTH_OF_HOURS = sql`(
  select min(to_date(substring(c.relname from '^usage_hourly_(\\d{6})$'), 'YYYYMM'))
  from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'usage_hourly'::regclass)`

/** Combines several checks into rows of check id and place, limited per check. */
export function unionOf(checks: readonly [CheckId, RawBuilder<unknown>][]): RawBuilder<Violation> {
  return sql.join(
    checks.map(
      ([id, rows]) => sql`(select ${sql.lit(id)} as id, place from (${rows}) v(place) limit ${VIOLATIONS_MAX})`,
    ),
    sql` union all `,
  )
}
