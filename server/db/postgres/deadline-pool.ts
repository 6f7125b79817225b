import type { PostgresCursor, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import { isConnectionLost, isReadOnlySession } from '../../domain/database-failure.ts'
import { DeadlineClient } from './deadline-client.ts'
import {
  ANSWER_MARGIN_MS,
  BEGIN_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  IDLE_IN_TRANSACTION_MS,
  KEEP_ALIVE_DELAY_MS,
  type PoolTerms,
} from './pool-terms.ts'

export interface PoolSurroundings {
  url: string
  types: pg.CustomTypesConfig
  /** Shared by all pools of a database: a failure of one connection may affect all of them. */
  suspicion: Suspicion
  onIdleError: (error: Error) => void
  onStatementError: (error: unknown) => void
}

/** Rises when existing connections can no longer be trusted. */
export interface Suspicion {
  level: number
}

const OPENS_TRANSACTION = /^(begin|start transaction)\b/

/** A pool whose statements have deadlines on both sides, with or without a transaction pooler in between. */
export class DeadlinePool {
  readonly options = {}
  readonly #pool: pg.Pool
  readonly #terms: PoolTerms
  readonly #surroundings: PoolSurroundings
  readonly #trustedAt = new WeakMap<pg.PoolClient, number>()

  constructor(terms: PoolTerms, surroundings: PoolSurroundings) {
    this.#terms = terms
    this.#surroundings = surroundings
    const { url, types, suspicion, onIdleError } = surroundings
    this.#pool = new pg.Pool({
      connectionString: url,
      Client: DeadlineClient,
      max: terms.connections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
      types,
      onConnect: (client) => setSession(client, terms),
    })
    // Without this listener the process would end when the server drops an idle connection.
    this.#pool.on('error', (error) => {
      // The pool attaches the whole connection, including its cancellation secret, which must not be logged.
      Reflect.deleteProperty(error, 'client')
      onIdleError(error)
    })
    this.#pool.on('connect', (client) => {
      // Likewise for a connection that is lost in use; the waiting query fails and reports it.
      client.on('error', () => {})
      this.#trustedAt.set(client, suspicion.level)
    })
  }

  /** A connection that is not under suspicion. */
  async connect(): Promise<DeadlineConnection> {
    for (;;) {
      const client = await this.#pool.connect()
      if (!(client instanceof DeadlineClient)) throw new TypeError('the pool makes connections of its own kind')
      if (this.#trustedAt.get(client) === this.#surroundings.suspicion.level) {
        return new DeadlineConnection(client, this.#terms, this.#surroundings)
      }
      client.destroy()
      client.release(true)
    }
  }

  /**
   * Fails on a standby and then replaces all connections, because the server's name may resolve to another host now.
   */
  async assertWritable(): Promise<void> {
    const connection = await this.connect()
    try {
      const { rows } = await connection.query("select 1 where current_setting('transaction_read_only') = 'off'", [])
      if (rows.length > 0) return
      this.#surroundings.suspicion.level++
      throw new Error('The database is a standby and cannot accept charges')
    } finally {
      connection.release()
    }
  }

  end(): Promise<void> {
    return this.#pool.end()
  }
}

/** One connection while it is checked out of its pool. */
export class DeadlineConnection {
  readonly #client: pg.PoolClient & DeadlineClient
  readonly #terms: PoolTerms
  readonly #surroundings: PoolSurroundings
  #isLost = false

  constructor(client: pg.PoolClient & DeadlineClient, terms: PoolTerms, surroundings: PoolSurroundings) {
    this.#client = client
    this.#terms = terms
    this.#surroundings = surroundings
  }

  query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>
  query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>
  query<Row>(
    text: string | PostgresCursor<Row>,
    values: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<Row>> | PostgresCursor<Row> {
    if (typeof text !== 'string') throw new TypeError('a cursor outlives the deadline of a statement')
    return this.#run(text, values)
  }

  release(destroy = false): void {
    const isUnusable = destroy || this.#isLost
    if (isUnusable) this.#client.destroy()
    this.#client.release(isUnusable)
  }

  async #run<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>> {
    const { begin } = this.#terms
    if (OPENS_TRANSACTION.test(text)) return this.#begin(text)
    if (begin === null || this.#client.getTransactionStatus() !== 'I') return this.#execute(text, values)
    await this.#begin(begin)
    try {
      const result = await this.#execute<Row>(text, values)
      await this.#execute('commit', [])
      return result
    } catch (error) {
      await this.#execute('rollback', []).catch(() => undefined)
      throw error
    }
  }

  /** In one message with the transaction's terms, because a pooler may give each transaction another session. */
  #begin<Row>(text: string): Promise<PostgresQueryResult<Row>> {
    const settings = settingsOf(this.#terms).map(([name, value]) => `set local ${name} = ${value}`)
    return this.#execute([text, ...settings].join('; '), [], BEGIN_TIMEOUT_MS)
  }

  async #execute<Row>(
    text: string,
    values: readonly unknown[],
    deadlineMs = this.#terms.statementMs + ANSWER_MARGIN_MS,
  ): Promise<PostgresQueryResult<Row>> {
    const { suspicion, onStatementError } = this.#surroundings
    try {
      return await this.#client.execute<Row>(text, values, deadlineMs)
    } catch (error) {
      onStatementError(error)
      if (isConnectionLost(error)) this.#isLost = true
      // The network or the server behind all connections may have changed without notice.
      if (isSilence(error) || isReadOnlySession(error)) suspicion.level++
      throw error
    }
  }
}

function isSilence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ETIMEDOUT'
}

function settingsOf({ statementMs, lockMs }: PoolTerms): [name: string, value: string | number][] {
  return [
    ['statement_timeout', statementMs],
    ['lock_timeout', lockMs],
    ['idle_in_transaction_session_timeout', IDLE_IN_TRANSACTION_MS],
    // Compiling a report takes the database several times as long as running it.
    ['jit', 'off'],
  ]
}

/**
 * For statements outside transactions, if this connection has a session of its own. A pooler lends sessions to other
 * clients; it is recognized by a process number that differs from the session's.
 */
async function setSession(client: unknown, terms: PoolTerms): Promise<void> {
  if (!(client instanceof DeadlineClient)) return
  const settings = settingsOf(terms).map(([name, value]) => `('${name}', '${value}')`)
  const text = `select set_config(name, value, false) from (values ${settings.join(', ')}) s (name, value)
    where pg_backend_pid() = ${client.processID ?? 0}`
  await client.execute(text, [], CONNECT_TIMEOUT_MS)
}
