import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { itemAt } from '../item-at.ts'

export interface DatabaseFacts {
  now: Date
  version: string
  synchronousCommit: string
  /** `off` loses acknowledged commits when the machine loses power. */
  fsync: string
}

export interface ServerProcess {
  processId: string
  startedAt: Date
  /** Seconds since its last heartbeat, by the database's clock. */
  silentSeconds: number
  openHolds: number
}

export class PlatformRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  async databaseFacts(): Promise<DatabaseFacts> {
    const { rows } = await sql<DatabaseFacts>`
      select clock_timestamp() as now, current_setting('server_version') as version,
        current_setting('synchronous_commit') as "synchronousCommit", current_setting('fsync') as fsync
    `.execute(this.#db)
    return itemAt(rows, 0)
  }

  /** Processes that share the database, oldest first; a killed one stays until its holds are released. */
  async processes(): Promise<ServerProcess[]> {
    const { rows } = await sql<ServerProcess>`
      select p.process_id as "processId", p.started_at as "startedAt",
        extract(epoch from now() - p.heartbeat_at)::float8 as "silentSeconds",
        (select count(*)::int from holds h where h.process_id = p.process_id) as "openHolds"
      from processes p order by p.started_at
    `.execute(this.#db)
    return rows
  }

  /** Open holds without a process that had a heartbeat within `staleSeconds`; the sweeper releases them. */
  async countAbandonedHolds(staleSeconds: number): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from holds h where not exists (
        select 1 from processes p
        where p.process_id = h.process_id and p.heartbeat_at > now() - make_interval(secs => ${staleSeconds})
      )
    `.execute(this.#db)
    return rows[0]?.count ?? 0
  }

  async hasUsagePartition(day: string): Promise<boolean> {
    const name = `usage_events_${day.replaceAll('-', '')}`
    const { rows } = await sql<{ found: boolean }>`select to_regclass(${name}) is not null as found`.execute(this.#db)
    return rows[0]?.found ?? false
  }

  /** Operator actions that began before `before` and never ended, because their process died. */
  async countUnfinishedActions(before: Date): Promise<number> {
    const { count } = await this.#db
      .selectFrom('operator_actions')
      .select((select) => select.fn.countAll().as('count'))
      .where('outcome', '=', 'started')
      .where('started_at', '<', before)
      .executeTakeFirstOrThrow()
    return Number(count)
  }
}
