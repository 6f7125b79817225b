import { type Kysely, Migrator, sql } from 'kysely'
import { MIGRATIONS } from './migrations/index.ts'
import type { Database } from './schema.ts'

/** Thrown when the database was migrated by a newer release than this one. */
export class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError'
}

/** Brings the schema up to date; safe when several processes start at once, since the migrator takes a lock in the database. */
export async function migrateToLatest(db: Kysely<Database>): Promise<void> {
  await refuseNewerSchema(db)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } })
  const { error, results } = await migrator.migrateToLatest()
  if (error === undefined) return
  const failed = results?.find((result) => result.status === 'Error')
  throw new Error(`Migration ${failed?.migrationName ?? '(none)'} failed`, { cause: error })
}

async function refuseNewerSchema(db: Kysely<Database>): Promise<void> {
  const table = await sql<{ name: string | null }>`select to_regclass('kysely_migration')::text as name`.execute(db)
  if (!table.rows[0]?.name) return
  const applied = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  const unknown = applied.rows.map((row) => row.name).filter((name) => !(name in MIGRATIONS))
  if (unknown.length === 0) return
  throw new NewerSchemaError(
    `The database has migrations that this release does not know (${unknown.join(', ')}): start the newer release, or restore a backup from before it.`,
  )
}
