import type { Kysely, KyselyPlugin } from 'kysely'
import type { Database } from '../../server/db/schema.ts'

/** The database, with a count of the SQL statements that go through it. */
export function countStatements(db: Kysely<Database>) {
  let count = 0
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    // Results, since statements that are written out whole are transformed by no plugin.
    transformResult: ({ result }) => {
      count++
      return Promise.resolve(result)
    },
  }
  return {
    db: db.withPlugin(plugin),
    /** How many statements `run` issues. */
    async during(run: () => Promise<unknown>): Promise<number> {
      const before = count
      await run()
      return count - before
    },
  }
}
