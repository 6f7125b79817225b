import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { SingleUseStore } from './single-use-store.ts'

const DELETED_ROWS_MAX = 10_000

/**
 * Records claims in the database that holds the money, so that they survive a restart and losing Redis does not allow
 * replays. The database's clock decides when a claim expires, so processes with different clocks agree.
 */
export class SingleUseRepository implements SingleUseStore {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  async claim(key: string, ttlMs: number): Promise<boolean> {
    const expiresAt = sql<Date>`now() + make_interval(secs => ${ttlMs / 1_000})`
    const row = await this.#db
      .insertInto('single_use_claims')
      .values({ claim_key: key, expires_at: expiresAt })
      .onConflict((conflict) =>
        conflict
          .column('claim_key')
          .doUpdateSet({ expires_at: expiresAt })
          .where('single_use_claims.expires_at', '<=', sql<Date>`now()`),
      )
      .returning('claim_key')
      .executeTakeFirst()
    return row !== undefined
  }

  async deleteExpired(): Promise<void> {
    let deleted: number
    do {
      const result = await sql`
        delete from single_use_claims where claim_key in (
          select claim_key from single_use_claims where expires_at <= now() limit ${DELETED_ROWS_MAX}
          for update skip locked
        )`.execute(this.#db)
      deleted = Number(result.numAffectedRows ?? 0n)
    } while (deleted === DELETED_ROWS_MAX)
  }
}
