import { type Kysely, sql } from 'kysely'
import type { Database } from '../../server/db/schema.ts'

/** Lets a fake clock decide about days and months; the database's own clock does in production. */
export async function trustProcessClock(db: Kysely<Database>): Promise<void> {
  await sql`create or replace function ledger_instant(process_time timestamptz) returns timestamptz
    language sql immutable as 'select process_time'`.execute(db)
}
