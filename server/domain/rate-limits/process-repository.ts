import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'

export class ProcessRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  async listLive(staleSeconds: number): Promise<string[]> {
    const { rows } = await sql<{ process_id: string }>`select p.process_id from processes p
      where p.heartbeat_at > now() - make_interval(secs => ${staleSeconds})`.execute(this.#db)
    return rows.map((row) => row.process_id)
  }
}
