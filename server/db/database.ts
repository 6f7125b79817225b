import { CompiledQuery, Kysely, PGliteDialect, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { Database } from './schema.ts'

/** Sends a finished statement outside of any transaction, and gives its rows. */
export type RunStatement = (text: string, values: readonly string[]) => Promise<unknown[]>

export interface DatabaseHandle {
  db: Kysely<Database>
  /** A way past the query builder, for the call of every request; absent where the builder guards the one connection. */
  runStatement?: RunStatement | undefined
  close(): Promise<void>
}

/** PostgreSQL's type numbers whose driver defaults lose or shift values. */
const INT8 = 20
const DATE = 1082

const POOL_CONNECTIONS_MAX = 10
const CONNECT_TIMEOUT_MS = 5_000

/** Days stay `YYYY-MM-DD` and 64-bit integers become bigint, alike on both engines. */
function typeParser(typeId: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (typeId === INT8) return BigInt
  if (typeId === DATE) return (day) => day
  return pg.types.getTypeParser(typeId, format)
}

export function createPostgresDatabase(url: string, onIdleError: (error: Error) => void = () => {}): DatabaseHandle {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL_CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    types: { getTypeParser: typeParser },
  })
  // A pool without this listener ends the process when the server drops an idle connection.
  pool.on('error', (error) => {
    // The pool attaches the whole connection, its cancellation secret included, which no log should have.
    Reflect.deleteProperty(error, 'client')
    onIdleError(error)
  })
  // So would a connection that is lost at work; there the query that waits on it fails, and reports it.
  pool.on('connect', (client) => client.on('error', () => {}))
  const dialect = new PostgresDialect({
    pool,
    // Compiling a report takes the database several times as long as running it.
    onCreateConnection: async (connection) => {
      await connection.executeQuery(CompiledQuery.raw('set jit = off'))
    },
  })
  const db = new Kysely<Database>({ dialect })
  // Without a name: poolers between here and the server know no prepared statements.
  const runStatement: RunStatement = async (text, values) => (await pool.query(text, [...values])).rows
  return { db, runStatement, close: () => db.destroy() }
}

/** Embedded PostgreSQL in `dataDir`, or in memory without one; `snapshot` is a data folder dumped earlier. */
export async function createEmbeddedDatabase(dataDir?: string, snapshot?: Blob): Promise<DatabaseHandle> {
  // Loaded here, since a process on PostgreSQL has no use for another one inside.
  const { PGlite } = await import('@electric-sql/pglite')
  const pglite = await PGlite.create({
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(snapshot === undefined ? {} : { loadDataDir: snapshot }),
    parsers: { [INT8]: BigInt, [DATE]: (day) => day },
  })
  const db = new Kysely<Database>({ dialect: new PGliteDialect({ pglite }) })
  return { db, close: () => db.destroy() }
}

/** Resolves when the database answers. */
export async function pingDatabase(db: Kysely<Database>): Promise<void> {
  await sql`select 1`.execute(db)
}
