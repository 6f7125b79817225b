import type { Kysely } from 'kysely'
import { inject } from 'vitest'
import { createEmbeddedDatabase, createPostgresDatabase, type RunStatement } from '../../server/db/database.ts'
import type { Database } from '../../server/db/schema.ts'
import { openEmbeddedSnapshot } from './embedded-snapshot.ts'
import { cloneTemplate, dropDatabase } from './postgres.ts'
import { IS_SOAK } from './soak.ts'

export type DatabaseEngine = 'postgres' | 'embedded'

/** For tests of what the drivers do differently: `describe.each(DATABASE_ENGINES)` with `hasEngine` as the condition. */
export const DATABASE_ENGINES: readonly DatabaseEngine[] = ['postgres', 'embedded']

export function hasEngine(engine: DatabaseEngine): boolean {
  return engine === 'embedded' || inject('postgres') !== null
}

/** For tests of what is the same on both: the engine at hand, and in the soak each. */
export const EITHER_ENGINE: readonly DatabaseEngine[] = IS_SOAK ? DATABASE_ENGINES.filter(hasEngine) : [engineAtHand()]

/** PostgreSQL where it answers, else the embedded one. */
function engineAtHand(): DatabaseEngine {
  return hasEngine('postgres') ? 'postgres' : 'embedded'
}

/** A migrated database of its own. */
export interface TestDatabase {
  db: Kysely<Database>
  runStatement?: RunStatement | undefined
  /** For further connections and processes; null on the embedded engine, which has only `db`. */
  url: string | null
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Clones the migrated template. */
export async function createTestDatabase(engine: DatabaseEngine = engineAtHand()): Promise<TestDatabase> {
  return engine === 'postgres' ? clonePostgres() : restoreEmbedded()
}

async function clonePostgres(): Promise<TestDatabase> {
  const template = inject('postgres')
  if (template === null) throw new Error('No PostgreSQL answers: guard this test with hasEngine')
  const url = await cloneTemplate(template)
  const handle = createPostgresDatabase(url)
  const close = once(async () => {
    await handle.close()
    // Nobody waits for it, as it may take a second; the end of the run drops what is left.
    void dropDatabase(template.adminUrl, url).catch(() => {})
  })
  return { ...handle, url, close, [Symbol.asyncDispose]: close }
}

async function restoreEmbedded(): Promise<TestDatabase> {
  const handle = await createEmbeddedDatabase(undefined, await openEmbeddedSnapshot())
  const close = once(handle.close)
  return { ...handle, url: null, close, [Symbol.asyncDispose]: close }
}

function once(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= run())
}
