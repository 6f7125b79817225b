import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { ApiKeyRepository } from '../../../../../server/domain/api-keys/api-key-repository.ts'
import type { KeyCaller } from '../../../../../server/domain/caller.ts'
import { createIdSource } from '../../../../../server/domain/ids.ts'
import { UsageClosing } from '../../../../../server/domain/usage/closing/usage-closing.ts'
import { UsageClosingRepository } from '../../../../../server/domain/usage/closing/usage-closing-repository.ts'
import { UsageQuery } from '../../../../../server/domain/usage/reports/inputs.ts'
import { UsageAnalyticsRepository } from '../../../../../server/domain/usage/reports/usage-analytics-repository.ts'
import { UsageRepository } from '../../../../../server/domain/usage/reports/usage-repository.ts'
import { UsageService } from '../../../../../server/domain/usage/reports/usage-service.ts'
import { createTestDatabase, EITHER_ENGINE, hasEngine, type TestDatabase } from '../../../../support/database.ts'
import { createFakeClock } from '../../../../support/fake-clock.ts'
import { createMoneyHarness, usageOf } from '../../../../support/money-harness.ts'

const HOUR_MS = 3_600_000

function setUp({ db }: TestDatabase, now: string) {
  const clock = createFakeClock(now)
  const money = createMoneyHarness(db, clock)
  const closings = new UsageClosingRepository(db)
  const closing = new UsageClosing({ closings, clock, ids: createIdSource(clock) })
  const analytics = new UsageAnalyticsRepository(db)
  const apiKeys = new ApiKeyRepository(db)
  const service = new UsageService({ usage: new UsageRepository(db), clock, hourlyRetentionDays: 100 })
  return {
    clock,
    money,
    closings,
    closing,
    settle: async (caller: KeyCaller, nano = 100n) => (await money.open(caller, nano)).settle(usageOf(nano)),
    closedUntil: async ({ accountId }: KeyCaller) => {
      const found = await db.selectFrom('usage_closings').selectAll().where('account_id', '=', accountId).execute()
      return found[0]?.closed_until
    },
    /** Spans of totals that count, longest first. */
    spans: async () => {
      const { rows } = await sql<{ span: string }>`select distinct days || ' from ' || starts as span, days, starts
        from usage_daily_totals join usage_closings using (account_id)
        where grain = 'total' and starts <= closed_until - days order by days desc, starts`.execute(db)
      return rows.map(({ span }) => span)
    },
    totals: async ({ accountId }: KeyCaller, from: string) =>
      (await service.cube(accountId, UsageQuery.parse({ from, to: clock.now().toISOString().slice(0, 10) }))).totals,
    /** Nano-USD by each reader of the roll-ups, from a day on. */
    readers: async ({ accountId, keyId }: KeyCaller, from: string) => {
      const range = { from, to: clock.now().toISOString().slice(0, 10) }
      const cube = await service.cube(accountId, UsageQuery.parse(range))
      const [ofModel, ...others] = (await analytics.read(accountId, range, 8)).lines
      const [ofKey] = await apiKeys.listSpend(accountId, [keyId], range)
      expect(others).toEqual([])
      return [cube.totals.amountNanoUsd, BigInt(ofModel?.usd ?? 0), BigInt(ofKey?.recentNano ?? 0)]
    },
    faults: async () => (await money.ledger.verify()).checks.filter(({ ok }) => !ok),
  }
}

describe.each(EITHER_ENGINE)('the closing of days on %s', (engine) => {
  test('sums up days that are over by half an hour, weeks, and four weeks, once they are whole', async () => {
    await using database = await createTestDatabase(engine)
    const { clock, money, closing, settle, closedUntil, spans, faults } = setUp(database, '2026-03-07T12:00:00.000Z')
    const caller = await money.addCaller({ usdNano: 100_000n })
    await settle(caller)
    clock.set('2026-03-08T00:29:00.000Z')
    await closing.closeDays()
    expect(await closedUntil(caller)).toBeUndefined()
    clock.set('2026-03-08T00:30:00.000Z')
    await closing.closeDays()
    expect(await closedUntil(caller)).toBe('2026-03-08')
    expect(await spans()).toEqual(['1 from 2026-03-07'])
    for (const day of ['2026-03-09', '2026-03-19', '2026-04-14']) {
      clock.set(`${day}T12:00:00.000Z`)
      await settle(caller)
    }
    clock.set('2026-04-15T12:00:00.000Z')
    await closing.closeDays()
    expect(await closedUntil(caller)).toBe('2026-04-15')
    expect(await spans()).toEqual([
      '28 from 2026-02-16',
      '28 from 2026-03-16',
      ...['2026-03-02', '2026-03-09', '2026-03-16'].map((monday) => `7 from ${monday}`),
      ...['2026-03-07', '2026-03-09', '2026-03-19', '2026-04-14'].map((day) => `1 from ${day}`),
    ])
    expect(await faults()).toEqual([])
  })

  test('counts a request that ends after its day was closed, at once and when the day is closed again', async () => {
    await using database = await createTestDatabase(engine)
    const { clock, money, closing, settle, closedUntil, totals, faults } = setUp(database, '2026-03-09T23:59:00.000Z')
    const caller = await money.addCaller({ usdNano: 100_000n })
    const late = await money.open(caller, 70n)
    await settle(caller)
    for (let day = 0; day < 30; day++) {
      clock.advance(24 * HOUR_MS)
      await settle(caller)
    }
    await closing.closeDays()
    expect(await closedUntil(caller)).toBe('2026-04-08')
    await late.settle(usageOf(70n))
    expect(await closedUntil(caller)).toBe('2026-03-09')
    expect(await totals(caller, '2026-03-09')).toMatchObject({ requests: 32, amountNanoUsd: 3_170n })
    expect(await faults()).toEqual([])
    await closing.closeDays()
    expect(await closedUntil(caller)).toBe('2026-04-08')
    expect(await totals(caller, '2026-03-09')).toMatchObject({ requests: 32, amountNanoUsd: 3_170n })
    expect(await faults()).toEqual([])
  })

  test('is consistent for every reader, and a late settlement reaches them all', async () => {
    await using database = await createTestDatabase(engine)
    const { clock, money, closing, settle, readers } = setUp(database, '2026-03-09T23:59:00.000Z')
    const caller = await money.addCaller({ usdNano: 100_000n })
    const late = await money.open(caller, 70n)
    await settle(caller)
    clock.advance(24 * HOUR_MS)
    const read = () => readers(caller, '2026-03-09')
    expect(await read()).toEqual([100n, 100n, 100n])
    await closing.closeDays()
    expect(await read()).toEqual([100n, 100n, 100n])
    expect(await read()).toEqual([100n, 100n, 100n])
    await late.settle(usageOf(70n))
    expect(await read()).toEqual([170n, 170n, 170n])
    await closing.closeDays()
    expect(await read()).toEqual([170n, 170n, 170n])
  })

  test('continues where a process died in the midst of it', async () => {
    await using database = await createTestDatabase(engine)
    const { clock, money, closing, closings, settle, closedUntil, totals, faults } = setUp(
      database,
      '2026-03-09T12:00:00.000Z',
    )
    const caller = await money.addCaller({ usdNano: 100_000n })
    const late = await money.open(caller, 70n)
    await settle(caller)
    clock.advance(24 * HOUR_MS)
    expect(await closings.begin([caller.accountId], '2026-03-10', { waits: false })).toEqual([caller.accountId])
    await late.settle(usageOf(70n))
    expect(await closings.finish([caller.accountId])).toEqual([])
    await closings.begin([caller.accountId], '2026-03-10', { waits: false })
    await closing.closeDays()
    expect(await closedUntil(caller)).toBe('2026-03-10')
    expect(await totals(caller, '2026-03-09')).toMatchObject({ requests: 2, amountNanoUsd: 170n })
    expect(await faults()).toEqual([])
  })

  test('is done once for each account with usage when several processes close at the same time', async () => {
    await using database = await createTestDatabase(engine)
    const { clock, money, closing, settle, closedUntil, faults } = setUp(database, '2026-03-09T12:00:00.000Z')
    const callers = await Promise.all(Array.from({ length: 4 }, () => money.addCaller({ usdNano: 100_000n })))
    const idle = await money.addCaller({ usdNano: 100_000n })
    await Promise.all(callers.map((caller) => settle(caller)))
    clock.advance(40 * 24 * HOUR_MS)
    await Promise.all(callers.map((caller) => settle(caller)))
    clock.advance(24 * HOUR_MS)
    await Promise.all([closing.closeDays(), closing.closeDays(), closing.closeDays()])
    await closing.closeDays()
    for (const caller of callers) expect(await closedUntil(caller)).toBe('2026-04-19')
    expect(await closedUntil(idle)).toBeUndefined()
    expect(await faults()).toEqual([])
  })

  test.each(['usage_daily_totals', 'usage_hourly_totals'] as const)(
    'leaves sums that verify compares with their parts: an amount changed in %s is found',
    async (table) => {
      await using database = await createTestDatabase(engine)
      const { clock, money, closing, settle, faults } = setUp(database, '2026-03-09T12:00:00.000Z')
      const caller = await money.addCaller({ usdNano: 100_000n })
      await settle(caller)
      clock.advance(30 * 24 * HOUR_MS)
      await closing.closeDays()
      expect(await faults()).toEqual([])
      const { rows } = await sql<{ grain: string; days: number | null }>`
        select distinct grain, to_jsonb(t) -> 'days' as days from ${sql.table(table)} t`.execute(database.db)
      expect(rows.length).toBe(table === 'usage_daily_totals' ? 14 : 3)
      for (const { grain, days } of rows) {
        const change = (by: number) =>
          sql`update ${sql.table(table)} t set amount_nano = amount_nano + ${by}
            where grain = ${grain} and to_jsonb(t) -> 'days' is not distinct from ${days}::jsonb`.execute(database.db)
        await change(1)
        expect((await faults()).map(({ id }) => id)).toContain('I12')
        await change(-1)
      }
      expect(await faults()).toEqual([])
    },
  )
})

test.runIf(hasEngine('postgres'))(
  'closing skips an account whose settlement runs, or waits for it and includes it',
  async () => {
    await using database = await createTestDatabase('postgres')
    const { clock, money, closings, settle, totals, faults } = setUp(database, '2026-03-09T12:00:00.000Z')
    const caller = await money.addCaller({ usdNano: 100_000n })
    await settle(caller)
    clock.advance(24 * HOUR_MS)
    const order: string[] = []
    const begun = await database.db.transaction().execute(async (trx) => {
      await sql`select 1 from balances where account_id = ${caller.accountId} for update`.execute(trx)
      expect(await closings.begin([caller.accountId], '2026-03-10', { waits: false })).toEqual([])
      const waiting = closings
        .begin([caller.accountId], '2026-03-10', { waits: true })
        .finally(() => order.push('closing begun'))
      await expect.poll(() => waitsForLock(database)).toBe(true)
      await sql`update usage_daily set amount_nano = amount_nano where account_id = ${caller.accountId}`.execute(trx)
      order.push('settlement done')
      return { waiting }
    })
    expect(await begun.waiting).toEqual([caller.accountId])
    expect(order).toEqual(['settlement done', 'closing begun'])
    expect(await closings.finish([caller.accountId])).toEqual([caller.accountId])
    expect(await totals(caller, '2026-03-09')).toMatchObject({ requests: 1, amountNanoUsd: 100n })
    expect(await faults()).toEqual([])
  },
)

test.runIf(hasEngine('postgres'))('repeated closing loses nothing that is settled meanwhile', async () => {
  await using database = await createTestDatabase('postgres')
  const { money, closings, settle, totals, closedUntil, faults } = setUp(database, '2026-03-09T12:00:00.000Z')
  const callers = await Promise.all(Array.from({ length: 3 }, () => money.addCaller({ usdNano: 1_000_000n })))
  // Two processes whose clocks stand after the day in which all this is settled.
  const later = createFakeClock('2026-03-10T12:00:00.000Z')
  const closers = [1, 2].map(() => new UsageClosing({ closings, clock: later, ids: createIdSource(later) }))
  for (let round = 0; round < 15; round++) {
    await Promise.all([...closers.map((closer) => closer.closeDays()), ...callers.map((caller) => settle(caller))])
  }
  for (const caller of callers) {
    expect(await totals(caller, '2026-03-09')).toMatchObject({ requests: 15, amountNanoUsd: 1_500n })
  }
  expect(await faults()).toEqual([])
  await closers[0]?.closeDays()
  for (const caller of callers) expect(await closedUntil(caller)).toBe('2026-03-10')
  expect(await faults()).toEqual([])
})

async function waitsForLock({ db }: TestDatabase): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length > 0
}
