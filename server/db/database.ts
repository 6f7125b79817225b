import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { EmbeddedPool } from './embedded-pool.ts'
import { DeadlinePool } from './postgres/deadline-pool.ts'
import { POOL_TERMS, type PoolTerms } from './postgres/pool-terms.ts'
import type { Database } from './schema.ts'
import { StorageWatch } from './storage-watch.ts'

/** Sends a complete statement outside a transaction and returns its rows. */
export type RunStatement = (text: string, values: readonly string[]) => Promise<unknown[]>

/**
 * Separate connections for each kind of work, so one kind never waits for another; the embedded database has one
 * connection for all.
 */
export interface DatabaseConnections {
  /** Statements that requests wait for, and all work without connections of its own. */
  db: Kysely<Database>
  /** The lease of the process, and the release of the holds of ended processes. */
  leases: Kysely<Database>
  /** Analytics, history, logs and lists; read only. */
  reports: Kysely<Database>
  /** Migrations, verification and maintenance. */
  jobs: Kysely<Database>
  /**
   * Bypasses the query builder for the call that every request makes; absent if the builder guards the only connection.
   */
  runStatement?: RunStatement | undefined
}

export interface DatabaseHandle extends DatabaseConnections {
  /**
   * Rejects while requests cannot be served: a connection makes no progress, the server is a standby, or its disk is
   * full.
   */
  check(): Promise<void>
  close(): Promise<void>
}

/** PostgreSQL type ids whose default parsers lose or shift values. */
const INT8 = 20
const DATE = 1082

/** Keeps days as `YYYY-MM-DD` and parses 64-bit integers as bigint, the same on both engines. */
function typeParser(typeId: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (typeId === INT8) return BigInt
  if (typeId === DATE) return (day) => day
  return pg.types.getTypeParser(typeId, format)
}

export function createPostgresDatabase(url: string, onIdleError: (error: Error) => void = () => {}): DatabaseHandle {
  const storage = new StorageWatch()
  const surroundings = {
    url,
    types: { getTypeParser: typeParser },
    suspicion: { level: 0 },
    onIdleError,
    onStatementError: (error: unknown) => storage.note(error),
  }
  const open = (terms: PoolTerms) =>
    new Kysely<Database>({ dialect: new PostgresDialect({ pool: new DeadlinePool(terms, surroundings) }) })
  const { money: moneyTerms, requests, leases, reports, jobs } = POOL_TERMS
  const money = new DeadlinePool(moneyTerms, surroundings)
  const builders = { db: open(requests), leases: open(leases), reports: open(reports), jobs: open(jobs) }
  const runStatement = runThrough(money)
  return {
    ...builders,
    runStatement,
    check: async () => {
      await Promise.all([pingDatabase(builders.db), money.assertWritable()])
      await storage.assertRoom(() => runStatement('select assert_room()', []))
    },
    close: async () => {
      await Promise.all([money.end(), ...Object.values(builders).map((builder) => builder.destroy())])
    },
  }
}

/** Unnamed, because a pooler in front of the server may not support prepared statements. */
function runThrough(pool: DeadlinePool): RunStatement {
  return async (text, values) => {
    const connection = await pool.connect()
    try {
      return (await connection.query(text, values)).rows
    } finally {
      connection.release()
    }
  }
}

/** Embedded PostgreSQL in `dataDir`, or in memory if none is given; `snapshot` is a previously dumped data folder. */
export async function createEmbeddedDatabase(dataDir?: string, snapshot?: Blob): Promise<DatabaseHandle> {
  // Loaded here, because a process on PostgreSQL never needs the embedded engine.
  const { PGlite } = await import('@electric-sql/pglite')
  const pglite = await PGlite.create({
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(snapshot === undefined ? {} : { loadDataDir: snapshot }),
    parsers: { [INT8]: BigInt, [DATE]: (day) => day },
  })
  const storage = new StorageWatch()
  const db = new Kysely<Database>({
    dialect: new PostgresDialect({ pool: new EmbeddedPool(pglite) }),
    log: (event) => void (event.level === 'error' && storage.note(event.error)),
  })
  const check = async (): Promise<void> => {
    await pingDatabase(db)
    await storage.assertRoom(() => sql`select assert_room()`.execute(db))
  }
  return { db, leases: db, reports: db, jobs: db, check, close: () => db.destroy() }
}

/** Resolves when the database responds. */
export async function pingDatabase(db: Kysely<Database>): Promise<void> {
  await sql`select 1`.execute(db)
}
