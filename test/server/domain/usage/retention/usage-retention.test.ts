import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createIdSource } from '../../../../../server/domain/ids.ts'
import { UsageClosing } from '../../../../../server/domain/usage/closing/usage-closing.ts'
import { UsageClosingRepository } from '../../../../../server/domain/usage/closing/usage-closing-repository.ts'
import {
  UsagePartitionRepository,
  type UsagePartitions,
} from '../../../../../server/domain/usage/retention/usage-partition-repository.ts'
import { UsageRetention } from '../../../../../server/domain/usage/retention/usage-retention.ts'
import { createTestDatabase, EITHER_ENGINE, hasEngine, type TestDatabase } from '../../../../support/database.ts'
import { createFakeClock } from '../../../../support/fake-clock.ts'
import { createMoneyHarness, usageOf } from '../../../../support/money-harness.ts'

const DAYS = { eventRetentionDays: 30, hourlyRetentionDays: 100 }

function setUp(database: TestDatabase, now: string) {
  const clock = createFakeClock(now)
  const retention = new UsageRetention({ partitions: new UsagePartitionRepository(database.db), clock, ...DAYS })
  const money = createMoneyHarness(database.db, clock)
  const closing = new UsageClosing({
    closings: new UsageClosingRepository(database.db),
    clock,
    ids: createIdSource(clock),
  })
  const placesOf = async (table: UsagePartitions) => {
    const { rows } = await sql<{ place: string }>`
      select distinct tableoid::regclass::text as place from ${sql.table(table)} order by 1`.execute(database.db)
    return rows.map(({ place }) => place)
  }
  return { clock, retention, closing, money, placesOf }
}

describe.each(EITHER_ENGINE)('the retention of usage on %s', (engine) => {
  test("creates each day's partition ahead of time, also concurrently, and leaves rows that began in the default one", async () => {
    await using database = await createTestDatabase(engine)
    const { clock, retention, money, placesOf } = setUp(database, '2026-02-28T23:00:00.000Z')
    await Promise.all([retention.prepare(), retention.prepare()])
    const caller = await money.addCaller({ usdNano: 1_000n })
    for (const now of ['2026-02-28T23:30:00.000Z', '2026-03-01T00:30:00.000Z', '2026-05-10T00:30:00.000Z']) {
      clock.set(now)
      await (await money.open(caller, 10n)).settle(usageOf(10n))
    }
    await retention.prepare()
    expect(await placesOf('usage_events')).toEqual([
      'usage_events_20260228',
      'usage_events_20260301',
      'usage_events_default',
    ])
    expect(await placesOf('usage_hourly')).toEqual([
      'usage_hourly_202602',
      'usage_hourly_202603',
      'usage_hourly_default',
    ])
    expect((await money.ledger.verify()).checks.filter(({ ok }) => !ok)).toEqual([])
  })

  test('drops older usage, and events, sums and ledger still add up', async () => {
    await using database = await createTestDatabase(engine)
    const { clock, retention, closing, money, placesOf } = setUp(database, '2026-01-30T12:00:00.000Z')
    const caller = await money.addCaller({ usdNano: 1_000n, stakeNano: 5n })
    const settle = async (chargeNano: bigint) => (await money.open(caller, chargeNano)).settle(usageOf(chargeNano))
    // In the default partitions, as usage from before there were any.
    await settle(3n)
    await settle(70n)
    for (const now of ['2026-02-01T12:00:00.000Z', '2026-02-02T12:00:00.000Z', '2026-03-04T12:00:00.000Z']) {
      clock.set(now)
      await retention.maintain()
      await closing.closeDays()
      await settle(100n)
    }
    const keptOf = async () => ({
      events: await placesOf('usage_events'),
      hours: await placesOf('usage_hourly'),
      sumsOfHours: await placesOf('usage_hourly_totals'),
      days: (await sql`select distinct day from usage_daily`.execute(database.db)).rows.length,
    })
    expect(await keptOf()).toMatchObject({
      events: ['usage_events_20260202', 'usage_events_20260304'],
      hours: ['usage_hourly_202602', 'usage_hourly_202603', 'usage_hourly_default'],
      sumsOfHours: ['usage_hourly_totals_202602', 'usage_hourly_totals_default'],
    })
    clock.set('2026-03-05T12:00:00.000Z')
    await retention.maintain()
    clock.set('2026-05-12T12:00:00.000Z')
    await retention.maintain()
    await closing.closeDays()
    expect(await keptOf()).toEqual({
      events: [],
      hours: ['usage_hourly_202602', 'usage_hourly_202603'],
      sumsOfHours: ['usage_hourly_totals_202602', 'usage_hourly_totals_202603'],
      days: 4,
    })
    expect((await money.ledger.verify()).checks.filter(({ ok }) => !ok)).toEqual([])
    clock.set('2026-06-10T12:00:00.000Z')
    await Promise.all([retention.maintain(), retention.maintain()])
    expect(await keptOf()).toEqual({
      events: [],
      hours: ['usage_hourly_202603'],
      sumsOfHours: ['usage_hourly_totals_202603'],
      days: 4,
    })
    await settle(1n)
    expect((await money.ledger.verify()).checks.filter(({ ok }) => !ok)).toEqual([])
    const { rows } = await sql<{ amount: string }>`select sum(charge_nano)::text as amount from usage_expired`.execute(
      database.db,
    )
    expect(rows).toEqual([{ amount: '373' }])
  })
})

test.runIf(hasEngine('postgres'))(
  'never waits long for a table that is in use, and does its work in a later turn',
  async () => {
    await using database = await createTestDatabase('postgres')
    const { retention, placesOf, clock, money } = setUp(database, '2026-02-01T12:00:00.000Z')
    await database.db.transaction().execute(async (trx) => {
      await sql`select count(*) from usage_events`.execute(trx)
      // Would wait for this transaction for ever, and everybody else behind it.
      await retention.prepare()
    })
    const caller = await money.addCaller({ usdNano: 1_000n })
    clock.set('2026-02-02T12:00:00.000Z')
    await retention.prepare()
    await (await money.open(caller, 1n)).settle(usageOf(1n))
    expect(await placesOf('usage_events')).toEqual(['usage_events_20260202'])
  },
)

test('a process whose clock is a year ahead drops no usage and closes no day that is not over', async () => {
  await using database = await createTestDatabase()
  const right = setUp(database, new Date().toISOString())
  await right.retention.prepare()
  const caller = await right.money.addCaller({ usdNano: 1_000n })
  await (await right.money.open(caller, 10n)).settle(usageOf(10n))
  const places = await right.placesOf('usage_events')
  expect(places).toHaveLength(1)
  await sql`create or replace function ledger_instant(process_time timestamptz) returns timestamptz
    language sql stable as 'select now()'`.execute(database.db)
  const ahead = setUp(database, new Date(Date.now() + 365 * 86_400_000).toISOString())
  await ahead.retention.maintain()
  await ahead.closing.closeDays()
  expect(await right.placesOf('usage_events')).toEqual(places)
  const { rows } = await sql`select 1 from usage_closings where closed_until > current_date`.execute(database.db)
  expect(rows).toEqual([])
})
