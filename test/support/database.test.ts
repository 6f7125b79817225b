import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { createTestDatabase, DATABASE_ENGINES, hasEngine } from './database.ts'

describe.each(DATABASE_ENGINES)('createTestDatabase on %s', (engine) => {
  it.runIf(hasEngine(engine))('gives each caller a migrated database that no other caller sees', async () => {
    await using first = await createTestDatabase(engine)
    await using second = await createTestDatabase(engine)
    await sql`create table only_here (id int)`.execute(first.db)
    await expect(sql`select * from only_here`.execute(second.db)).rejects.toThrow(/does not exist/)
    expect(await second.db.selectFrom('accounts').selectAll().execute()).toEqual([])
  })
})
