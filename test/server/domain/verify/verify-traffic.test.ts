import { expect, test } from 'vitest'
import { utcDay } from '../../../../server/domain/clock.ts'
import { createIdSource } from '../../../../server/domain/ids.ts'
import { UsageClosing } from '../../../../server/domain/usage/closing/usage-closing.ts'
import { UsageClosingRepository } from '../../../../server/domain/usage/closing/usage-closing-repository.ts'
import { UsagePartitionRepository } from '../../../../server/domain/usage/retention/usage-partition-repository.ts'
import { UsageRetention } from '../../../../server/domain/usage/retention/usage-retention.ts'
import { SnapshotRepository } from '../../../../server/domain/verify/snapshot-repository.ts'
import { Verifier } from '../../../../server/domain/verify/verifier.ts'
import { VERIFY_SCANS } from '../../../../server/domain/verify/verify-scans.ts'
import { createTestDatabase, hasEngine } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, usageOf } from '../../../support/money-harness.ts'

const HOUR_MS = 3_600_000
const USD = 1_000_000_000n
const DAYS = { eventRetentionDays: 3, hourlyRetentionDays: 40 }
const ROUNDS_MIN = 3
const REQUESTS = 400
const MAINTENANCE_TURNS = 15
const SLICES = [
  { first: 30, min: 30, max: 30 },
  { first: 200, min: 200, max: 200 },
  { first: 5_000, min: 50, max: 100_000 },
]

test.runIf(hasEngine('postgres'))(
  'verify finds nothing while requests, grants, closings, retention and sweeps run',
  async () => {
    await using database = await createTestDatabase('postgres')
    const clock = createFakeClock('2026-03-27T20:00:00.000Z')
    const [money, crashed] = [createMoneyHarness(database.db, clock), createMoneyHarness(database.db, clock)]
    await money.sweeper.start()
    const callers = await Promise.all([
      money.addCaller({ usdNano: 100n * USD }),
      money.addCaller({ usdNano: USD, stakeNano: 20n * USD }),
      money.addCaller({ usdNano: 100n * USD }),
    ])
    const closing = new UsageClosing({
      closings: new UsageClosingRepository(database.db),
      clock,
      ids: createIdSource(clock),
    })
    const retention = new UsageRetention({ partitions: new UsagePartitionRepository(database.db), clock, ...DAYS })

    const state = { busy: true }
    const request = async (turn: number) => {
      const caller = callers[turn % callers.length]
      if (caller === undefined) return
      const opened = await (turn % 7 === 0 ? crashed : money).open(caller, 1_000n)
      if (turn % 7 === 0) return
      if (turn % 5 === 0) await opened.extend(500n)
      if (turn % 11 === 0) await opened.release()
      else await opened.settle(usageOf(BigInt(1 + (turn % 900))))
    }
    const traffic = Array.from({ length: 6 }, async (_, worker) => {
      for (let turn = worker; turn < REQUESTS; turn += 6) await request(turn)
    })
    const maintenance = async () => {
      for (let turn = 0; turn < MAINTENANCE_TURNS; turn++) {
        clock.advance(10 * HOUR_MS)
        await closing.closeDays()
        await retention.maintain()
        await money.sweeper.maintain()
        for (const { accountId } of callers) {
          await money.ledger.grant({ accountId, amountNanoUsd: USD, reason: 'more', reference: `turn-${turn}` })
        }
      }
    }
    const working = Promise.all([...traffic, maintenance()]).finally(() => {
      state.busy = false
    })
    // A settlement may be of an hour to which the clock is moved while a slice begins.
    const ahead = {
      now: () => new Date(clock.nowMs() + 24 * HOUR_MS),
      nowMs: () => Date.now(),
      monotonicMs: () => performance.now(),
    }
    const found: unknown[] = []
    for (let round = 0; state.busy || round < ROUNDS_MIN; round++) {
      const sliceRows = SLICES[round % SLICES.length] ?? { first: 50, min: 50, max: 50 }
      const snapshots = new SnapshotRepository(database.db)
      const verifier = new Verifier({ snapshots, scans: VERIFY_SCANS, clock: ahead, sliceRows })
      found.push(...(await verifier.verify()).checks.filter(({ ok }) => !ok))
    }
    await working
    expect(found).toEqual([])
    expect(utcDay(clock.now()) > '2026-04-01').toBe(true)
    await money.sweeper.stop()
  },
)
