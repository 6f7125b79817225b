import type { PGlite } from '@electric-sql/pglite'
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'

/** Lends the only connection of the embedded database to one borrower at a time. */
export class EmbeddedPool implements PostgresPool {
  readonly #pglite: PGlite
  #returned: Promise<void> = Promise.resolve()

  constructor(pglite: PGlite) {
    this.#pglite = pglite
  }

  async connect(): Promise<PostgresPoolClient> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = this.#returned
    this.#returned = promise
    await before
    return new EmbeddedConnection(this.#pglite, resolve)
  }

  async end(): Promise<void> {
    if (!this.#pglite.closed) await this.#pglite.close()
  }
}

class EmbeddedConnection implements PostgresPoolClient {
  readonly #pglite: PGlite
  readonly release: () => void

  constructor(pglite: PGlite, release: () => void) {
    this.#pglite = pglite
    this.release = release
  }

  query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>
  query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>
  query<Row>(
    text: string | PostgresCursor<Row>,
    values: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<Row>> | PostgresCursor<Row> {
    if (typeof text !== 'string') throw new TypeError('the embedded database has no cursors')
    return this.#run(text, values)
  }

  /** The engine does not name the command; reporting UPDATE passes its row count on for every kind of statement. */
  async #run<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>> {
    const { rows, affectedRows = 0 } = await this.#pglite.query<Row>(text, [...values])
    return { command: 'UPDATE', rowCount: affectedRows, rows }
  }
}
