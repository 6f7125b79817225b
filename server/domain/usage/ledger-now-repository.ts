import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { itemAt } from '../item-at.ts'

/**
 * The time by the clock that decides the day of a request; `at`, the process's own time, is used only by test databases.
 */
export async function ledgerNow(db: Kysely<Database>, at: Date): Promise<Date> {
  const { rows } = await sql<{ instant: Date }>`select ledger_instant(${at}::timestamptz) as instant`.execute(db)
  return itemAt(rows, 0).instant
}
