import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MeteredRequest } from '../../../../server/domain/metering/metered-request.ts'
import { createTestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../../../support/money-harness.ts'
import { repeats } from '../../../support/soak.ts'

const TURNS_MAX = 12
const RUNS = repeats(30, { soak: 300 })

type Operation =
  | { kind: 'open'; account: number; process: number; amount: number }
  | { kind: 'settle'; at: number; charge: number }
  | { kind: 'release'; at: number }
  | { kind: 'extend'; at: number; amount: number }
  | { kind: 'grant'; account: number; amount: number }
  | { kind: 'hours'; hours: number }

const index = fc.nat(40)
const amount = fc.integer({ min: 0, max: 400 })
/** Negative: taken by an operator's word, down to what is held. */
const correction = fc.integer({ min: -400, max: 400 })
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('open' as const), account: fc.nat(2), process: fc.nat(1), amount }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle' as const), at: index, charge: amount }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release' as const), at: index }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('extend' as const), at: index, amount }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('grant' as const), account: fc.nat(2), amount: correction }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('hours' as const), hours: fc.integer({ min: 1, max: 30 }) }) },
)

describe('the money path under random operations of two processes', () => {
  test('keeps every invariant after any interleaving, across days, limits and both currencies', async () => {
    await using database = await createTestDatabase()
    const clock = createFakeClock('2026-02-27T12:00:00.000Z')
    const processes = [createMoneyHarness(database.db, clock), createMoneyHarness(database.db, clock)] as const
    for (const process of processes) await process.sweeper.start()

    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(operation, { minLength: 1, maxLength: 8 }), { maxLength: TURNS_MAX }),
        async (turns) => {
          const callers = await Promise.all([
            processes[0].addCaller({ usdNano: 1_000n }),
            processes[0].addCaller({ usdNano: 500n, stakeNano: 300n }, { usdNano: 400n, period: 'MONTH' }),
            processes[0].addCaller({ stakeNano: 800n }, { diemNano: 500n }),
          ])
          const opened: MeteredRequest[] = []
          // Every turn's operations run at once, so that batches mix.
          for (const turn of turns) {
            await Promise.allSettled(turn.map((step) => run(step, { callers, opened, processes, clock })))
          }
          expect((await processes[1].ledger.verify()).checks.filter((check) => !check.ok)).toEqual([])
        },
      ),
      { numRuns: RUNS },
    )
    for (const process of processes) await process.sweeper.stop()
  })
})

interface World {
  callers: Awaited<ReturnType<MoneyHarness['addCaller']>>[]
  opened: MeteredRequest[]
  processes: readonly [MoneyHarness, MoneyHarness]
  clock: ReturnType<typeof createFakeClock>
}

async function run(step: Operation, { callers, opened, processes, clock }: World): Promise<unknown> {
  switch (step.kind) {
    case 'open': {
      const caller = callers[step.account]
      const process = processes[step.process]
      if (caller === undefined || process === undefined) return
      return opened.push(await process.open(caller, BigInt(step.amount)))
    }
    case 'settle':
      return opened[step.at % opened.length]?.settle(usageOf(BigInt(step.charge)))
    case 'release':
      return opened[step.at % opened.length]?.release()
    case 'extend':
      return opened[step.at % opened.length]?.extend(BigInt(step.amount))
    case 'grant':
      return processes[0].ledger.grant({
        accountId: callers[step.account]?.accountId ?? '',
        amountNanoUsd: BigInt(step.amount),
        reason: 'test',
      })
    case 'hours':
      return clock.advance(step.hours * 3_600_000)
  }
}
