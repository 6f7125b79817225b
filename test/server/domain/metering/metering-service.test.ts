import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DomainError } from '../../../../server/domain/errors.ts'
import { HoldRepository } from '../../../../server/domain/metering/hold-repository.ts'
import type { MeteredRequest } from '../../../../server/domain/metering/metered-request.ts'
import { createTestDatabase, DATABASE_ENGINES, hasEngine, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../../../support/money-harness.ts'

describe.each(DATABASE_ENGINES.filter(hasEngine))('the money path on %s', (engine) => {
  let database: TestDatabase
  const clock = createFakeClock('2026-03-10T12:00:00.000Z')
  let money: MoneyHarness

  beforeAll(async () => {
    database = await createTestDatabase(engine)
    money = createMoneyHarness(database.db, clock)
    await money.sweeper.start()
  })
  afterAll(async () => {
    await money.sweeper.stop()
    expect((await money.ledger.verify()).checks.filter((check) => !check.ok)).toEqual([])
    await database.close()
  })

  const balanceOf = async (accountId: string, currency: 'usd' | 'diem' = 'usd') => {
    const balances = await money.ledger.balances(accountId)
    const found = balances.find((balance) => balance.currency === currency)
    return { balance: found?.balanceNanoUsd, held: found?.heldNanoUsd }
  }
  const codeOf = async (attempt: Promise<unknown>): Promise<string> => {
    try {
      await attempt
      return 'admitted'
    } catch (error) {
      return error instanceof DomainError ? error.code : String(error)
    }
  }

  test('a hold sets the worst case aside; the settlement charges the true cost and frees the rest', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n })
    const request = await money.open(caller, 700n)
    expect(await balanceOf(caller.accountId)).toEqual({ balance: 1_000n, held: 700n })
    const receipt = await request.settle(usageOf(123n))
    expect(receipt).toEqual({ chargedNanoUsd: 123n, currency: 'usd', balanceAfterNano: 877n, settledNow: true })
    expect(await balanceOf(caller.accountId)).toEqual({ balance: 877n, held: 0n })
  })

  test('admits exactly 50 of 200 parallel requests on a balance that covers exactly 50', async () => {
    const caller = await money.addCaller({ usdNano: 50n * 777n })
    const codes = await Promise.all(Array.from({ length: 200 }, () => codeOf(money.open(caller, 777n))))
    expect(codes.filter((code) => code === 'admitted')).toHaveLength(50)
    expect(codes.filter((code) => code === 'insufficient_balance')).toHaveLength(150)
    expect(await balanceOf(caller.accountId)).toEqual({ balance: 50n * 777n, held: 50n * 777n })
  })

  test('decisions follow arrival order: a large request that does not fit leaves room for a later small one', async () => {
    const caller = await money.addCaller({ usdNano: 100n })
    const codes = await Promise.all([60n, 50n, 40n, 1n].map((amount) => codeOf(money.open(caller, amount))))
    expect(codes).toEqual(['admitted', 'insufficient_balance', 'admitted', 'insufficient_balance'])
  })

  test('isolates an account that cannot pay from the others of its batch', async () => {
    const poor = await money.addCaller({ usdNano: 10n })
    const rich = await money.addCaller({ usdNano: 1_000n })
    const codes = await Promise.all([poor, rich, poor, rich].map((caller) => codeOf(money.open(caller, 8n))))
    expect(codes).toEqual(['admitted', 'admitted', 'insufficient_balance', 'admitted'])
  })

  test('a key limit stops at the exact amount, whatever the balance', async () => {
    const caller = await money.addCaller({ usdNano: 1_000_000n }, { usdNano: 1_000n })
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(money.open(caller, 150n))))
    expect(codes.filter((code) => code === 'admitted')).toHaveLength(6)
    expect(codes.filter((code) => code === 'key_limit_usd')).toHaveLength(14)
  })

  test('a limit of zero blocks the currency', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n }, { usdNano: 0n })
    expect(await codeOf(money.open(caller, 1n))).toBe('key_limit_usd')
    expect(await codeOf(money.open(caller, 0n))).toBe('admitted')
  })

  test.each([
    { period: 'EPOCH', admittedNextDay: true, admittedNextMonth: true },
    { period: 'MONTH', admittedNextDay: false, admittedNextMonth: true },
    { period: 'LIFETIME', admittedNextDay: false, admittedNextMonth: false },
  ] as const)('a key limit per $period resets when its period ends, in UTC', async (expected) => {
    clock.set('2026-03-30T23:59:59.999Z')
    const caller = await money.addCaller({ usdNano: 1_000_000n }, { usdNano: 100n, period: expected.period })
    await (await money.open(caller, 100n)).settle(usageOf(100n))
    expect(await codeOf(money.open(caller, 1n))).toBe('key_limit_usd')
    clock.set('2026-03-31T00:00:00.000Z')
    expect(await codeOf(money.open(caller, 1n))).toBe(expected.admittedNextDay ? 'admitted' : 'key_limit_usd')
    clock.set('2026-04-01T00:00:00.000Z')
    expect(await codeOf(money.open(caller, 1n))).toBe(expected.admittedNextMonth ? 'admitted' : 'key_limit_usd')
  })

  test('a request that crosses midnight counts for the day of its admission', async () => {
    clock.set('2026-04-02T23:59:00.000Z')
    const caller = await money.addCaller({ usdNano: 1_000n }, { usdNano: 100n, period: 'EPOCH' })
    const late = await money.open(caller, 80n)
    clock.set('2026-04-03T00:01:00.000Z')
    await late.settle(usageOf(80n))
    expect(await codeOf(money.open(caller, 100n))).toBe('admitted')
  })

  test('a revoked or expired key is rejected by the admission itself', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n }, { expiresAt: new Date(clock.nowMs() + 1_000) })
    expect(await codeOf(money.open(caller, 1n))).toBe('admitted')
    clock.advance(1_000)
    expect(await codeOf(money.open(caller, 1n))).toBe('unauthenticated')
  })

  test('DIEM pays first; a request that it does not cover is paid whole by USD', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n, stakeNano: 100n })
    const requests = await Promise.all([70n, 40n, 30n].map((amount) => money.open(caller, amount)))
    expect(requests.map((request) => request.hold.currency)).toEqual(['diem', 'usd', 'diem'])
  })

  test('resets the DIEM allowance at 00:00 UTC and expires the unused part', async () => {
    clock.set('2026-05-01T10:00:00.000Z')
    const caller = await money.addCaller({ stakeNano: 100n })
    await (await money.open(caller, 30n)).settle(usageOf(30n))
    expect(await balanceOf(caller.accountId, 'diem')).toEqual({ balance: 70n, held: 0n })
    clock.set('2026-05-02T00:00:00.000Z')
    expect(await balanceOf(caller.accountId, 'diem')).toEqual({ balance: 100n, held: 0n })
  })

  test('a hold of yesterday keeps its DIEM, and its rest does not add to the new allowance', async () => {
    clock.set('2026-05-03T23:59:59.000Z')
    const caller = await money.addCaller({ stakeNano: 100n })
    const late = await money.open(caller, 60n)
    clock.set('2026-05-04T00:00:01.000Z')
    expect(await balanceOf(caller.accountId, 'diem')).toEqual({ balance: 160n, held: 60n })
    await late.settle(usageOf(25n))
    expect(await balanceOf(caller.accountId, 'diem')).toEqual({ balance: 100n, held: 0n })
  })

  test('a settlement that is repeated charges once', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n })
    const request = await money.open(caller, 500n)
    const receipts = await Promise.all([
      request.settle(usageOf(400n)),
      request.settle(usageOf(400n)),
      request.release(),
    ])
    expect(receipts[0]?.chargedNanoUsd).toBe(400n)
    expect(await balanceOf(caller.accountId)).toEqual({ balance: 600n, held: 0n })
  })

  test('recognises a repeated settlement whose response was lost', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n })
    const { hold } = await money.open(caller, 500n)
    const item = settlementOf(hold, 400n)
    expect(await money.metering.settleItem(item)).toEqual({
      outcome: 'settled',
      chargedNano: 400n,
      balanceAfterNano: 600n,
    })
    expect(await money.metering.settleItem(item)).toEqual({
      outcome: 'settled_before',
      chargedNano: 400n,
      balanceAfterNano: 600n,
    })
  })

  test('admits a repeated admission whose response was lost only once', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n })
    const { hold } = await money.open(caller, 600n)
    const { accountId, requestId, keyId } = hold
    const item = { accountId, requestId, keyId, amountNano: 600n, lateAt: null }
    const batch = { processId: money.processId, at: clock.now(), waits: false }
    expect(await money.holds.settleAndAdmit([{ kind: 'admit', item }], batch)).toMatchObject([
      { kind: 'admit', result: { outcome: 'admitted', currency: 'usd' } },
    ])
    expect(await balanceOf(caller.accountId)).toEqual({ balance: 1_000n, held: 600n })
  })

  test('a charge above its hold is capped at the hold, and its lines still add up', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n })
    const request = await money.open(caller, 100n)
    const lines = [
      { type: 'Input', units: 1, amountNanoUsd: 80n },
      { type: 'Output', units: 1, amountNanoUsd: 80n },
    ]
    expect((await request.settle(usageOf(0n, { lines }))).chargedNanoUsd).toBe(100n)
  })

  test('a hold grows while the balance and the key allow it', async () => {
    const caller = await money.addCaller({ usdNano: 100n }, { usdNano: 90n })
    const request = await money.open(caller, 50n)
    expect(await request.extend(40n)).toBe('extended')
    expect(await request.extend(1n)).toBe('insufficient')
    expect((await request.settle(usageOf(90n))).chargedNanoUsd).toBe(90n)
    expect(await request.extend(1n)).toBe('lost')
  })

  test('a rejected hold gives the rate windows back', async () => {
    const caller = await money.addCaller({ usdNano: 1n })
    const before = money.rateLimiter.givenBack
    expect(await codeOf(money.open(caller, 2n))).toBe('insufficient_balance')
    expect(money.rateLimiter.givenBack).toBe(before + 1)
  })

  test('holds of a process that ended are released, and its late settlement charges nothing', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n })
    const dead = createMoneyHarness(database.db, clock)
    await dead.sweeper.start()
    const abandoned: MeteredRequest = await dead.open(caller, 900n)
    await database.db.deleteFrom('processes').where('process_id', '=', dead.processId).execute()
    expect(await money.sweeper.sweep(30)).toBe(1)
    expect(await balanceOf(caller.accountId)).toEqual({ balance: 1_000n, held: 0n })
    expect(await codeOf(abandoned.settle(usageOf(900n)))).toBe('hold_lost')
    expect(await balanceOf(caller.accountId)).toEqual({ balance: 1_000n, held: 0n })
    await dead.sweeper.stop()
  })

  test('keeps the holds of every process after a pause of all processes until each could renew its lease', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n })
    const [other, dead] = [createMoneyHarness(database.db, clock), createMoneyHarness(database.db, clock)]
    const processes = [money, other, dead]
    for (const { holds, processId } of processes) await holds.heartbeat(processId)
    const request = await other.open(caller, 400n)
    await dead.open(caller, 500n)
    const heartbeat_at = sql<Date>`now() - interval '31 seconds'`
    const ids = processes.map(({ processId }) => processId)
    await database.db.updateTable('processes').set({ heartbeat_at }).where('process_id', 'in', ids).execute()
    await money.sweeper.maintain()
    expect((await balanceOf(caller.accountId)).held).toBe(900n)
    await other.sweeper.maintain()
    await money.sweeper.maintain()
    expect((await balanceOf(caller.accountId)).held).toBe(400n)
    expect((await request.settle(usageOf(400n))).settledNow).toBe(true)
  })

  test('a process whose own heartbeat took long takes no holds of others, whose heartbeats may have taken as long', async () => {
    const slowClock = createFakeClock()
    class SlowHolds extends HoldRepository {
      override async heartbeat(processId: string): Promise<number> {
        slowClock.advance(31_000)
        return super.heartbeat(processId)
      }
    }
    const slow = createMoneyHarness(database.db, slowClock, { holds: new SlowHolds(database.db) })
    const other = createMoneyHarness(database.db, clock)
    const caller = await money.addCaller({ usdNano: 1_000n })
    const request = await other.open(caller, 400n)
    await slow.sweeper.maintain()
    expect((await balanceOf(caller.accountId)).held).toBe(400n)
    await request.release()
  })

  test('open holds of a living process are never swept', async () => {
    const caller = await money.addCaller({ usdNano: 1_000n })
    const request = await money.open(caller, 10n)
    expect(await money.sweeper.sweep(30)).toBe(0)
    expect((await request.settle(usageOf(10n))).settledNow).toBe(true)
  })

  function settlementOf(hold: MeteredRequest['hold'], chargeNano: bigint) {
    const { accountId, requestId, currency, admittedAt } = hold
    const day = admittedAt.toISOString().slice(0, 10)
    return { accountId, requestId, currency, day, transferId: requestId, chargeNano, usage: usageOf(chargeNano) }
  }
})
