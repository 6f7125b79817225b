import { type Kysely, sql } from 'kysely'

/** Operators list accounts by their age: the ids of wallets' accounts are derived and have no order in time. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index accounts_by_age on accounts (created_at, account_id)`.execute(db)
}
