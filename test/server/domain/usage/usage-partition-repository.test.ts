import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { UsagePartitionRepository } from '../../../../server/domain/usage/usage-partition-repository.ts'
import { createTestDatabase, DATABASE_ENGINES, hasEngine } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, usageOf } from '../../../support/money-harness.ts'

test.each(DATABASE_ENGINES.filter(hasEngine))(
  'usage of a day lies in the partition of that day, on %s',
  async (engine) => {
    await using database = await createTestDatabase(engine)
    const clock = createFakeClock('2026-02-28T23:00:00.000Z')
    const partitions = new UsagePartitionRepository(database.db)
    await Promise.all([partitions.ensure(clock.now()), partitions.ensure(clock.now())])
    const money = createMoneyHarness(database.db, clock)
    const caller = await money.addCaller({ usdNano: 1_000n })
    const settle = async () => (await money.open(caller, 10n)).settle(usageOf(10n))
    await settle()
    clock.set('2026-03-01T00:30:00.000Z')
    await settle()
    clock.set('2026-03-10T00:30:00.000Z')
    await settle()
    await partitions.ensure(clock.now())
    const { rows } = await sql<{
      place: string
    }>`select tableoid::regclass::text as place from usage_events order by day`.execute(database.db)
    expect(rows.map((row) => row.place)).toEqual([
      'usage_events_20260228',
      'usage_events_20260301',
      'usage_events_default',
    ])
    expect((await money.ledger.verify()).ok).toBe(true)
  },
)
