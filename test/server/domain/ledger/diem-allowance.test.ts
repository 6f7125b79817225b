import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { utcDay } from '../../../../server/domain/clock.ts'
import type { MeteredRequest } from '../../../../server/domain/metering/metered-request.ts'
import { createTestDatabase, EITHER_ENGINE, hasEngine, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../../../support/money-harness.ts'
import { repeats } from '../../../support/soak.ts'

type Step =
  | { kind: 'open'; amount: number; mortal: boolean }
  | { kind: 'settle'; at: number; share: number }
  | { kind: 'stake'; stake: number }
  | { kind: 'hours'; hours: number }
  | { kind: 'crash' }

const share = fc.integer({ min: 0, max: 100 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('open' as const),
      amount: fc.integer({ min: 1, max: 150 }),
      mortal: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle' as const), at: fc.nat(20), share }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stake' as const), stake: fc.integer({ min: 0, max: 400 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('hours' as const), hours: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
)

interface OpenHold {
  request: MeteredRequest
  day: string
  amount: number
  mortal: boolean
}

/** The rule in its simplest form: what a day grants, less what its own requests hold or have spent, is free. */
class Model {
  day = ''
  stake = 200
  granted = 0
  used = 0
  holds: OpenHold[] = []

  enter(day: string): void {
    if (day === this.day) return
    this.day = day
    this.granted = this.stake
    this.used = 0
  }

  get free(): number {
    return this.granted - this.used
  }

  get balance(): number {
    return this.holds.reduce((sum, { amount }) => sum + amount, this.free)
  }

  /** A hold ends; only one of today gives back to today. */
  end(hold: OpenHold, charge: number): void {
    this.holds = this.holds.filter((other) => other !== hold)
    if (hold.day === this.day) this.used -= hold.amount - charge
  }
}

describe.each(EITHER_ENGINE)('the DIEM of a day, on %s', (engine) => {
  describe.runIf(hasEngine(engine))('', () => {
    let database: TestDatabase
    beforeAll(async () => {
      database = await createTestDatabase(engine)
    })
    afterAll(() => database.close())

    test('is exactly the grant minus the use of its requests: over midnights, changes of stake and crashes', async () => {
      const clock = createFakeClock('2026-02-26T09:00:00.000Z')
      const [money, mortal] = [createMoneyHarness(database.db, clock), createMoneyHarness(database.db, clock)]
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
          for (const { holds, processId } of [money, mortal]) await holds.heartbeat(processId)
          const caller = await money.addCaller({ usdNano: 1_000_000n, stakeNano: 200n })
          const model = new Model()
          const { accountId } = caller
          const world = { money, mortal, model, clock, database, caller }
          for (const each of steps) {
            await run(each, world)
            const balances = await money.ledger.balances(accountId)
            model.enter(utcDay(clock.now()))
            const diem = balances.find(({ currency }) => currency === 'diem')
            expect([diem?.balanceNanoUsd, diem?.heldNanoUsd]).toEqual([
              BigInt(model.balance),
              BigInt(model.balance - model.free),
            ])
            expect((await money.ledger.diemEpoch(accountId)).allocationNano).toBe(BigInt(model.granted))
          }
          await run({ kind: 'crash' }, world)
          for (const { request } of model.holds) await request.release()
          expect(await postedOf(money, accountId)).toBe(await diemOf(money, accountId))
          expect((await money.ledger.verify()).checks.filter((check) => !check.ok)).toEqual([])
        }),
        { numRuns: repeats(15, { soak: 100 }) },
      )
    })
  })
})

interface World {
  money: MoneyHarness
  mortal: MoneyHarness
  model: Model
  clock: ReturnType<typeof createFakeClock>
  database: TestDatabase
  caller: Awaited<ReturnType<MoneyHarness['addCaller']>>
}

async function run(each: Step, { money, mortal, model, clock, database, caller }: World): Promise<void> {
  model.enter(utcDay(clock.now()))
  switch (each.kind) {
    case 'open': {
      const request = await (each.mortal ? mortal : money).open(caller, BigInt(each.amount))
      expect(request.hold.currency).toBe(each.amount <= model.free ? 'diem' : 'usd')
      if (request.hold.currency === 'usd') return request.release()
      model.used += each.amount
      model.holds.push({ request, day: model.day, amount: each.amount, mortal: each.mortal })
      return
    }
    case 'settle': {
      const hold = model.holds[each.at % Math.max(1, model.holds.length)]
      if (hold === undefined) return
      const charge = Math.floor((hold.amount * each.share) / 100)
      await hold.request.settle(usageOf(BigInt(charge)))
      return model.end(hold, charge)
    }
    case 'stake': {
      const values = { stake_diem_nano: BigInt(each.stake) }
      await database.db.updateTable('accounts').set(values).where('account_id', '=', caller.accountId).execute()
      await money.ledger.stakeChanged(caller.accountId)
      model.stake = each.stake
      model.granted = Math.max(model.granted, each.stake)
      return
    }
    case 'hours':
      return clock.advance(each.hours * 3_600_000)
    case 'crash': {
      await database.db.deleteFrom('processes').where('process_id', '=', mortal.processId).execute()
      await money.sweeper.sweep(30)
      await mortal.holds.heartbeat(mortal.processId)
      for (const hold of model.holds.filter(({ mortal: isMortal }) => isMortal)) model.end(hold, 0)
    }
  }
}

async function diemOf(money: MoneyHarness, accountId: string): Promise<bigint | undefined> {
  const balances = await money.ledger.balances(accountId)
  return balances.find(({ currency }) => currency === 'diem')?.balanceNanoUsd
}

/** Allowances less charges and expiries, as the ledger's rows have them. */
async function postedOf(money: MoneyHarness, accountId: string): Promise<bigint> {
  let sum = 0n
  for (let after: string | null | undefined = undefined; ; ) {
    const page: Awaited<ReturnType<MoneyHarness['ledger']['listTransfers']>> = await money.ledger.listTransfers(
      accountId,
      { first: 100, after },
    )
    for (const { currency, kind, amountNanoUsd } of page.items) {
      if (currency !== 'diem') continue
      expect(['diem_allowance', 'diem_expiry', 'charge']).toContain(kind)
      sum += amountNanoUsd
    }
    if (!page.hasNextPage) return sum
    after = page.endCursor
  }
}
