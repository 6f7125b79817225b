import { type Kysely, sql } from 'kysely'
import { FUNCTIONS } from '../functions/index.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of FUNCTIONS) await sql.raw(statement).execute(db)
}
