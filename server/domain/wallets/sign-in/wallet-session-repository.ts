import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'

export class WalletSessionRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Stored until `expiresAt`, when the session would have expired anyway. */
  async revoke(sessionId: string, expiresAt: Date): Promise<void> {
    await this.#db
      .insertInto('revoked_wallet_sessions')
      .values({ session_id: sessionId, expires_at: expiresAt })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }

  async isRevoked(sessionId: string): Promise<boolean> {
    const row = await this.#db
      .selectFrom('revoked_wallet_sessions')
      .select('session_id')
      .where('session_id', '=', sessionId)
      .executeTakeFirst()
    return row !== undefined
  }

  /** Uses the database's clock, because a process with a fast clock would revive ended sessions. */
  async deleteExpired(at: Date): Promise<void> {
    await sql`delete from revoked_wallet_sessions where expires_at <= ledger_instant(${at}::timestamptz)`.execute(
      this.#db,
    )
  }
}
