import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../../server/domain/clock.ts'
import { HoldRepository } from '../../../../server/domain/metering/hold-repository.ts'
import { createTestDatabase, DATABASE_ENGINES, hasEngine, type TestDatabase } from '../../../support/database.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../../../support/money-harness.ts'

class CountingHolds extends HoldRepository {
  failures = 0

  override settleAndAdmit(...batch: Parameters<HoldRepository['settleAndAdmit']>) {
    const results = super.settleAndAdmit(...batch)
    results.catch(() => void this.failures++)
    return results
  }
}

describe.each(DATABASE_ENGINES.filter(hasEngine))('items with extreme values on %s', (engine) => {
  let database: TestDatabase
  let money: MoneyHarness
  let holds: CountingHolds
  beforeAll(async () => {
    database = await createTestDatabase(engine)
    holds = new CountingHolds(database.db)
    money = createMoneyHarness(database.db, systemClock, { holds })
  })
  afterAll(async () => {
    expect((await money.ledger.verify()).checks.filter((check) => !check.ok)).toEqual([])
    await database.close()
  })

  test.each([2n ** 62n, 2n ** 63n, 2n ** 64n, 10n ** 30n])(
    'rejects a hold of %d nano as one that no balance covers',
    async (amount) => {
      const callers = await Promise.all([1, 2, 3].map(() => money.addCaller({ usdNano: 1_000n })))
      const codes = await Promise.all(
        callers.map((caller, index) =>
          money.open(caller, index === 1 ? amount : 10n).then(
            () => 'admitted',
            (error: { code: string }) => error.code,
          ),
        ),
      )
      expect(codes).toEqual(['admitted', 'insufficient_balance', 'admitted'])
      expect(holds.failures).toBe(0)
    },
  )

  test.each(['\0', 'a\0b', '\ud800', '"', '\\', '{},()', "'; --", ''])(
    'charges a request whose names contain %j',
    async (text) => {
      const caller = await money.addCaller({ usdNano: 1_000n })
      const request = await money.open(caller, 100n)
      const lines = [{ type: `x${text}`, units: 1, amountNanoUsd: 40n, unitPriceUsd: '0.1' }]
      const usage = usageOf(0n, { sku: `s${text}`, modelName: text, upstreamId: text, lines })
      expect((await request.settle(usage)).chargedNanoUsd).toBe(40n)
      expect(holds.failures).toBe(0)
      const stored = text.toWellFormed().replaceAll('\0', '\ufffd')
      const rows = await database.db
        .selectFrom('usage_events')
        .select(['sku', 'model_name', 'upstream_id', 'lines'])
        .where('account_id', '=', caller.accountId)
        .execute()
      const line = { type: `x${stored}`, units: 1, amount: '40', price: '0.1' }
      expect(rows).toEqual([{ sku: `s${stored}`, model_name: stored, upstream_id: stored, lines: [line] }])
    },
  )

  test('charges a request that took longer than its column holds', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n })
    const request = await money.open(caller, 100n)
    expect((await request.settle(usageOf(40n, { durationMs: 1e12 }))).chargedNanoUsd).toBe(40n)
  })

  test('an item that the database rejects all the same fails alone', async () => {
    const callers = await Promise.all([1, 2, 3].map(() => money.addCaller({ usdNano: 1_000n })))
    const requests = await Promise.all(callers.map((caller) => money.open(caller, 100n)))
    const outcomes = await Promise.allSettled(
      requests.map((request, index) => request.settle(usageOf(40n, { retries: index === 1 ? 2 ** 40 : 0 }))),
    )
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await money.sweeper.releaseOwn()
  })
})
