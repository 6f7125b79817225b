import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SingleUseRepository } from '../../../../server/domain/wallets/sign-in/single-use-repository.ts'
import { createTestDatabase, DATABASE_ENGINES, hasEngine, type TestDatabase } from '../../../support/database.ts'
import { eventually } from '../../../support/eventually.ts'

describe.each(DATABASE_ENGINES)('claims of single use on %s', (engine) => {
  describe.runIf(hasEngine(engine))('', () => {
    let database: TestDatabase
    let store: SingleUseRepository
    beforeAll(async () => {
      database = await createTestDatabase(engine)
      store = new SingleUseRepository(database.db)
    })
    afterAll(() => database.close())

    test('one of 50 simultaneous claims of a key succeeds', async () => {
      const claims = await Promise.all(Array.from({ length: 50 }, () => store.claim('many', 60_000)))
      expect(claims.filter(Boolean)).toHaveLength(1)
      expect(await store.claim('other', 60_000)).toBe(true)
    })

    test('a claim is remembered by a store that is created later', async () => {
      expect(await store.claim('kept', 60_000)).toBe(true)
      expect(await new SingleUseRepository(database.db).claim('kept', 60_000)).toBe(false)
    })

    test('a key is free again when its claim has expired', async () => {
      expect(await store.claim('short', 1)).toBe(true)
      await eventually(async () => expect(await store.claim('short', 60_000)).toBe(true))
      expect(await store.claim('short', 60_000)).toBe(false)
    })

    test('the clean-up deletes expired claims only', async () => {
      await Promise.all([store.claim('expired', 1), store.claim('valid', 60_000)])
      await eventually(async () => {
        await store.deleteExpired()
        const rows = await database.db
          .selectFrom('single_use_claims')
          .select('claim_key')
          .where('claim_key', 'in', ['expired', 'valid'])
          .execute()
        expect(rows).toEqual([{ claim_key: 'valid' }])
      })
      expect(await store.claim('valid', 60_000)).toBe(false)
    })
  })
})
