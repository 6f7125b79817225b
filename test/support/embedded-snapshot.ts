import { createHash, randomBytes } from 'node:crypto'
import { globSync, openAsBlob } from 'node:fs'
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { Kysely, PostgresDialect } from 'kysely'
import { EmbeddedPool } from '../../server/db/embedded-pool.ts'
import { migrateToLatest } from '../../server/db/migrate.ts'
import type { Database } from '../../server/db/schema.ts'
import { trustProcessClock } from './process-clock.ts'

const ROOT = join(import.meta.dirname, '../..')
const SCHEMA_SOURCES = ['server/db/{migrations,functions}/*.ts', 'test/support/process-clock.ts']
const CACHE = join(ROOT, 'node_modules/.cache/sluice-tests')

/** A migrated embedded database, dumped: initialising one takes seconds, restoring it half of one. Kept until the schema changes. */
export async function openEmbeddedSnapshot(): Promise<Blob> {
  const path = join(CACHE, `${await fingerprint()}.tar`)
  if (!(await exists(path))) await writeSnapshot(path)
  return openAsBlob(path)
}

async function writeSnapshot(path: string): Promise<void> {
  const pglite = await PGlite.create()
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: new EmbeddedPool(pglite) }) })
  try {
    await migrateToLatest(db)
    await trustProcessClock(db)
    const dump = await pglite.dumpDataDir('none')
    await mkdir(CACHE, { recursive: true })
    const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
    await writeFile(draft, Buffer.from(await dump.arrayBuffer()))
    await rename(draft, path)
  } finally {
    await db.destroy()
  }
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256')
  for (const path of [...globSync(SCHEMA_SOURCES, { cwd: ROOT }).toSorted(), 'package-lock.json']) {
    hash.update(await readFile(join(ROOT, path)))
  }
  return hash.digest('hex').slice(0, 16)
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
