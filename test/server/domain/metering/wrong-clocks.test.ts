import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEDGER_INSTANT } from '../../../../server/db/functions/ledger-instant.ts'
import type { KeyCaller } from '../../../../server/domain/caller.ts'
import { DAY_MS, systemClock, utcDay } from '../../../../server/domain/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../../../support/money-harness.ts'

const LIMIT_NANO_USD = 200n
const CHARGE_NANO_USD = 66n
const DAYS_OFF = [-31, -1, 1, 31]

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

const limitedTo = (period: 'EPOCH' | 'MONTH') => ({ usdNano: LIMIT_NANO_USD, period })

/** How many requests of 66 a key with a limit of 200 gets charged, by a process each time. */
async function charge(processes: readonly MoneyHarness[], caller: KeyCaller): Promise<number> {
  let charged = 0
  for (const process of processes) {
    const request = await process.open(caller, CHARGE_NANO_USD).catch(() => undefined)
    if (request === undefined) continue
    await request.settle(usageOf(CHARGE_NANO_USD))
    charged++
  }
  return charged
}

describe('a process whose clock is wrong', () => {
  beforeAll(async () => {
    // As in production: the database's own clock decides.
    await sql.raw(LEDGER_INSTANT).execute(database.db)
  })

  test.each(DAYS_OFF)('changes no limit of a key by a clock that is %i days off', async (days) => {
    const right = createMoneyHarness(database.db, systemClock)
    const wrong = createMoneyHarness(database.db, createFakeClock(new Date(Date.now() + days * DAY_MS).toISOString()))
    for (const period of ['EPOCH', 'MONTH'] as const) {
      const caller = await right.addCaller({ usdNano: 1_000_000n }, limitedTo(period))
      expect(await charge([right, wrong, right], caller)).toBe(3)
      expect(await charge([wrong, right, wrong, right], caller)).toBe(0)
    }
  })

  test.each(DAYS_OFF)('writes usage on the day of the database with a clock that is %i days off', async (days) => {
    const wrong = createMoneyHarness(database.db, createFakeClock(new Date(Date.now() + days * DAY_MS).toISOString()))
    const caller = await wrong.addCaller({ usdNano: 1_000_000n })
    const request = await wrong.open(caller, CHARGE_NANO_USD)
    await request.settle(usageOf(CHARGE_NANO_USD))
    const { rows } = await sql<{ ok: boolean }>`
      select day = (admitted_at at time zone 'UTC')::date and settled_at between now() - interval '1 minute' and now() as ok
      from usage_events where account_id = ${caller.accountId}`.execute(database.db)
    expect(rows).toEqual([{ ok: true }])
    expect(utcDay(request.hold.admittedAt)).not.toBe(utcDay(wrong.clock.now()))
  })

  test('cannot use a key that has expired by the clock of the database', async () => {
    const late = createMoneyHarness(database.db, createFakeClock(new Date(Date.now() - DAY_MS).toISOString()))
    const caller = await late.addCaller({ usdNano: 1_000n }, { expiresAt: new Date(Date.now() - 1_000) })
    await expect(late.open(caller, 1n)).rejects.toMatchObject({ code: 'unauthenticated' })
  })
})

test('a database clock that jumps to the next day and back lifts no limit', async () => {
  await using moved = await createTestDatabase()
  const clock = createFakeClock('2026-03-10T12:00:00.000Z')
  const money = createMoneyHarness(moved.db, clock)
  const caller = await money.addCaller({ usdNano: 1_000_000n }, limitedTo('EPOCH'))
  expect(await charge([money, money, money], caller)).toBe(3)
  clock.advance(DAY_MS)
  expect(await charge([money], caller)).toBe(1)
  clock.advance(-DAY_MS)
  expect(
    await charge(
      Array.from({ length: 20 }, () => money),
      caller,
    ),
  ).toBe(2)
  expect((await money.ledger.verify()).checks.filter((check) => !check.ok)).toEqual([])
})

test('a request that began on the day before does not count for the new day, and verify agrees', async () => {
  await using midnight = await createTestDatabase()
  const clock = createFakeClock('2026-03-31T23:59:59.000Z')
  const money = createMoneyHarness(midnight.db, clock)
  const caller = await money.addCaller({ usdNano: 1_000_000n }, limitedTo('MONTH'))
  const before = await money.open(caller, CHARGE_NANO_USD)
  clock.advance(2_000)
  const after = await money.open(caller, CHARGE_NANO_USD)
  await Promise.all([before.settle(usageOf(CHARGE_NANO_USD)), after.settle(usageOf(CHARGE_NANO_USD))])
  expect(await charge([money, money, money], caller)).toBe(2)
  expect((await money.ledger.verify()).checks.filter((check) => !check.ok)).toEqual([])
})
