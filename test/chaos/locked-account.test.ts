import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../server/domain/clock.ts'
import { createTestDatabase, hasEngine, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../support/money-harness.ts'
import { lockBalance } from './balance-lock.ts'

const REQUESTS = 20
const SHORT_PATIENCE = { admitMs: 1_000, settleMs: 30_000, extendMs: 500 }

describe.runIf(hasEngine('postgres'))('an account whose balance another session keeps locked', () => {
  let database: TestDatabase
  let money: MoneyHarness
  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    money = createMoneyHarness(database.db, systemClock, { patience: SHORT_PATIENCE })
    await money.sweeper.start()
  })
  afterAll(async () => {
    await money.sweeper.stop()
    expect((await money.ledger.verify()).checks.filter((check) => !check.ok)).toEqual([])
    await database.close()
  })

  const heldBy = async (accountId: string) => {
    const [usd] = await money.ledger.balances(accountId)
    return usd?.heldNanoUsd
  }
  const attempt = (request: Promise<unknown>) =>
    request.then(() => 'done').catch((error: { code?: string }) => error.code)

  test('delays nobody else, gets its requests rejected, and works when it is free again', async () => {
    const locked = await money.addCaller({ usdNano: 1_000_000n })
    const neighbour = await money.addCaller({ usdNano: 1_000_000n })
    const unlock = await lockBalance(database.db, locked.accountId)
    const waiting = Array.from({ length: REQUESTS }, () => attempt(money.open(locked, 10n)))
    for (let count = 0; count < REQUESTS; count++) await (await money.open(neighbour, 10n)).settle(usageOf(5n))
    // The neighbour's requests came and went while the lock was in place.
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => 'unavailable'))
    await unlock()
    // A batch that was waiting for the lock may place its holds only now.
    await eventually(async () => {
      await money.sweeper.releaseOwn()
      expect(await heldBy(locked.accountId)).toBe(0n)
    })
    await (await money.open(locked, 10n)).settle(usageOf(5n))
  })

  test('keeps its settlements waiting until they are written', async () => {
    const caller = await money.addCaller({ usdNano: 1_000_000n })
    const requests = await Promise.all(Array.from({ length: REQUESTS }, () => money.open(caller, 10n)))
    const unlock = await lockBalance(database.db, caller.accountId)
    const receipts = Promise.all(requests.map((request) => request.settle(usageOf(7n))))
    expect(await attempt(money.open(caller, 10n))).toBe('unavailable')
    await unlock()
    const charged = (await receipts).map(({ chargedNanoUsd }) => chargedNanoUsd)
    expect(charged).toEqual(requests.map(() => 7n))
  })

  test('does not grow a hold before it is free', async () => {
    const caller = await money.addCaller({ usdNano: 1_000_000n })
    const request = await money.open(caller, 10n)
    const unlock = await lockBalance(database.db, caller.accountId)
    const extension = request.extend(5n)
    await unlock()
    expect(await extension).toBe('extended')
    expect((await request.settle(usageOf(15n))).chargedNanoUsd).toBe(15n)
  })

  test('never waits for the balance of one currency while it has locked that of the other', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n, stakeNano: 100n })
    await (await money.open(caller, 10n)).settle(usageOf(10n))
    const release = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const session = database.db.transaction().execute(async (trx) => {
      const diem = trx.selectFrom('balances').selectAll().where('account_id', '=', caller.accountId)
      await diem.where('currency', '=', 'diem').forUpdate().execute()
      locked.resolve()
      await release.promise
    })
    await locked.promise
    expect(await attempt(money.open(caller, 10n))).toBe('unavailable')
    release.resolve()
    await session
    expect((await money.open(caller, 10n)).hold.currency).toBe('diem')
  })

  test('keeps no hold of requests whose clients left while it was locked', async () => {
    const caller = await money.addCaller({ usdNano: 1_000_000n })
    const unlock = await lockBalance(database.db, caller.accountId)
    const client = new AbortController()
    const waiting = Array.from({ length: REQUESTS }, () => attempt(money.open(caller, 10n, client.signal)))
    client.abort()
    await unlock()
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => 'unavailable'))
    await money.sweeper.releaseOwn()
    expect(await heldBy(caller.accountId)).toBe(0n)
    const usage = database.db.selectFrom('usage_events').selectAll().where('account_id', '=', caller.accountId)
    expect(await usage.execute()).toEqual([])
  })
})
