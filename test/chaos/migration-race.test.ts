import { describe, expect, inject, test } from 'vitest'
import { createPostgresDatabase } from '../../server/db/database.ts'
import { MIGRATIONS } from '../../server/db/migrations/index.ts'
import { hasEngine } from '../support/database.ts'
import { createEmptyDatabase, dropDatabase } from '../support/postgres.ts'
import { runServerToExit, startServerProcess } from '../support/server-process.ts'

const PROCESSES = 3

/** A database without any table, which only this test uses. */
async function openEmptyDatabase() {
  const template = inject('postgres')
  if (template === null) throw new Error('No PostgreSQL answers: guard this test with hasEngine')
  const url = await createEmptyDatabase(template)
  const { db, close } = createPostgresDatabase(url)
  return {
    url,
    /** Kysely's own table, which no table type of ours describes. */
    migrations: db.withTables<{ kysely_migration: { name: string; timestamp: string } }>(),
    [Symbol.asyncDispose]: async () => {
      await close()
      await dropDatabase(template.adminUrl, url)
    },
  }
}

describe.runIf(hasEngine('postgres'))('the schema of a database', () => {
  test(`is migrated only once by ${PROCESSES} servers that start at the same time`, async () => {
    await using database = await openEmptyDatabase()
    await using servers = new AsyncDisposableStack()
    const startOne = async () => servers.use(await startServerProcess({ databaseUrl: database.url, config: {} }))

    const started = await Promise.all(Array.from({ length: PROCESSES }, startOne))

    const health = await Promise.all(started.map(async ({ url }) => (await fetch(`${url}/health/ready`)).status))
    expect(health).toEqual(started.map(() => 200))
    const applied = await database.migrations.selectFrom('kysely_migration').select('name').orderBy('name').execute()
    expect(applied.map(({ name }) => name)).toEqual(Object.keys(MIGRATIONS).toSorted())
    // Each of them can work with it.
    await Promise.all(started.map((server) => server.createAccount('1')))
  })

  test('a schema of a newer release stops an older server from starting', async () => {
    await using database = await openEmptyDatabase()
    const options = { databaseUrl: database.url, config: {} }
    await (await startServerProcess(options)).stop()
    const future = { name: '29991231-2359-of-the-future', timestamp: '2999-12-31T23:59:00Z' }
    await database.migrations.insertInto('kysely_migration').values(future).execute()

    const { code, output } = await runServerToExit(options)

    expect(code).toBe(1)
    expect(output.trim()).toBe(
      `The database has migrations that this release does not know (${future.name}): start the newer release, or restore a backup from before it.`,
    )
  })
})
