import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../../../server/domain/caller.ts'
import { addDays, utcDay } from '../../../../../server/domain/clock.ts'
import { createIdSource } from '../../../../../server/domain/ids.ts'
import { RequestRepository } from '../../../../../server/domain/requests/request-repository.ts'
import { UsageClosing } from '../../../../../server/domain/usage/closing/usage-closing.ts'
import { UsageClosingRepository } from '../../../../../server/domain/usage/closing/usage-closing-repository.ts'
import { UsageHistoryQuery } from '../../../../../server/domain/usage/history/inputs.ts'
import type { UsageHistoryEntry } from '../../../../../server/domain/usage/history/usage-history.ts'
import { UsageHistoryRepository } from '../../../../../server/domain/usage/history/usage-history-repository.ts'
import { UsageHistoryService } from '../../../../../server/domain/usage/history/usage-history-service.ts'
import { UsageQuery } from '../../../../../server/domain/usage/reports/inputs.ts'
import { USAGE_TIME_UNITS } from '../../../../../server/domain/usage/reports/usage.ts'
import { UsageAnalyticsRepository } from '../../../../../server/domain/usage/reports/usage-analytics-repository.ts'
import { UsageAnalyticsService } from '../../../../../server/domain/usage/reports/usage-analytics-service.ts'
import { UsageRepository } from '../../../../../server/domain/usage/reports/usage-repository.ts'
import { UsageService } from '../../../../../server/domain/usage/reports/usage-service.ts'
import { createTestDatabase, EITHER_ENGINE, type TestDatabase } from '../../../../support/database.ts'
import { createFakeClock } from '../../../../support/fake-clock.ts'
import { createKeyHarness, type KeyHarness } from '../../../../support/key-harness.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../../../../support/money-harness.ts'
import { repeats } from '../../../../support/soak.ts'
import { type CubeQuestion, cellsOf, expectedCells, type SettledRequest } from '../../../../support/usage-oracle.ts'

const RUNS = repeats(2, { soak: 12 })
const QUESTIONS = 25
const MINUTE_MS = 60_000
/** A Friday before changes of the clock in Europe, Australia and none elsewhere. */
const START = '2026-03-27T20:00:00.000Z'
const RANGE = { from: '2026-03-20', to: '2026-06-10' }
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'America/St_Johns',
  'Pacific/Kiritimati',
  'America/Los_Angeles',
]
const OTHERS = ['sku', 'network', 'method', 'api_key', 'currency', 'unit_type', 'model_type'] as const
const GENEROUS_NANO = 1_000_000_000_000n

const Charge = fc.record({
  minutesLater: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 60, max: 1_200 })),
  caller: fc.integer({ min: 0, max: 3 }),
  /** How long it takes: some end long after their day was closed. */
  minutesOfWork: fc.oneof(
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 60, max: 2_000 }) },
  ),
  closesDays: fc.constantFrom('never', 'while it runs', 'afterwards'),
  service: fc.constantFrom('chat', 'cheap chat', 'image', 'base-mainnet', 'solana-mainnet'),
  lines: fc.array(
    fc.record({ units: fc.integer({ min: 1, max: 900 }), nanoUsd: fc.bigInt({ min: 0n, max: 40_000_000n }) }),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
})
type Charge = typeof Charge extends fc.Arbitrary<infer Made> ? Made : never

const Question: fc.Arbitrary<CubeQuestion> = fc.record({
  timeZone: fc.constantFrom(...ZONES),
  unit: fc.constantFrom(null, ...USAGE_TIME_UNITS),
  dimensions: fc.subarray([...OTHERS]),
})

function toUsage({ service, lines }: Charge) {
  const isRpc = service.endsWith('mainnet')
  const types = isRpc ? ['eth_call', 'eth_chainId', 'eth_getLogs'] : ['Input', 'Output', 'Cache Read']
  const sku = isRpc ? `crypto-rpc-${service}` : service
  return usageOf(0n, {
    sku,
    modelName: sku,
    modelType: isRpc ? null : service === 'image' ? 'IMAGE' : 'LLM',
    unitType: isRpc ? 'credits' : service === 'image' ? 'images' : 'tokens',
    lines: lines.map(({ units, nanoUsd }, index) => ({ type: types[index] ?? '', units, amountNanoUsd: nanoUsd })),
  })
}

/** An account with two currencies, three keys and a wallet, and what it was charged. */
async function settleAll(database: TestDatabase, charges: readonly Charge[]) {
  const clock = createFakeClock(START)
  const money = createMoneyHarness(database.db, clock)
  const closing = new UsageClosing({
    closings: new UsageClosingRepository(database.db),
    clock,
    ids: createIdSource(clock),
  })
  await money.sweeper.start()
  const first = await money.addCaller({ usdNano: GENEROUS_NANO, stakeNano: 100_000_000n }, { period: 'LIFETIME' })
  const { accountId } = first
  const month = await money.addKey(accountId, { period: 'MONTH' })
  const callers: Caller[] = [first, month, await money.addKey(accountId, { period: 'EPOCH' })]
  callers.push({ ...first, kind: 'wallet', keyId: null, modelPrivacy: 'ALL', walletChain: 'evm', walletAddress: '0x' })
  const stranger = await money.addCaller({ usdNano: GENEROUS_NANO })
  const settled: SettledRequest[] = []
  for (const charge of charges) {
    clock.advance(charge.minutesLater * MINUTE_MS)
    const caller = callers[charge.caller] ?? first
    const usage = toUsage(charge)
    const price = usage.lines.reduce((sum, line) => sum + line.amountNanoUsd, 0n)
    const request = await money.open(caller, price + 1n)
    clock.advance(charge.minutesOfWork * MINUTE_MS)
    if (charge.closesDays === 'while it runs') await closing.closeDays()
    await request.settle(usage)
    if (charge.closesDays === 'afterwards') await closing.closeDays()
    await (await money.open(stranger, price + 1n)).settle(usage)
    const { admittedAt, currency } = request.hold
    settled.push({ at: admittedAt, keyId: caller.keyId, currency, chargedNanoUsd: price, usage })
  }
  await money.sweeper.stop()
  return { accountId, clock, money, settled }
}

/** What each key spent in its period and in the last seven days, all of UTC. */
async function expectKeyPeriods(keys: KeyHarness, accountId: string, settled: readonly SettledRequest[]) {
  const today = utcDay(keys.clock.now())
  const firstDays = { EPOCH: today, MONTH: `${today.slice(0, 7)}-01`, LIFETIME: '' }
  for (const key of await keys.apiKeys.list(accountId)) {
    const own = settled.filter(({ keyId }) => keyId === key.id)
    const since = (firstDay: string) => totalOf(own.filter(({ at }) => utcDay(at) >= firstDay).map(toAmounts))
    expect(key.usage.currentPeriod).toEqual(since(firstDays[key.limitPeriod]))
    expect(key.usage.trailingSevenDays).toEqual(since(addDays(today, -6)))
  }
}

async function historyOf(db: TestDatabase['db'], accountId: string) {
  const history = new UsageHistoryService({
    history: new UsageHistoryRepository(db),
    requests: new RequestRepository(db),
  })
  const found: UsageHistoryEntry[] = []
  let query = UsageHistoryQuery.parse({ pageSize: '10' })
  for (;;) {
    const { entries, nextCursor } = await history.page(accountId, query)
    found.push(...entries)
    if (nextCursor === null) return found.map((entry) => toAmounts({ ...entry, chargedNanoUsd: -entry.amountNanoUsd }))
    query = UsageHistoryQuery.parse({ cursor: nextCursor })
  }
}

function toAmounts({ currency, chargedNanoUsd }: Pick<SettledRequest, 'currency' | 'chargedNanoUsd'>) {
  return { usdNano: 0n, diemNano: 0n, [`${currency}Nano`]: chargedNanoUsd }
}

function totalOf(rows: readonly { usdNano: bigint; diemNano: bigint }[]) {
  return rows.reduce((sum, row) => ({ usdNano: sum.usdNano + row.usdNano, diemNano: sum.diemNano + row.diemNano }), {
    usdNano: 0n,
    diemNano: 0n,
  })
}

async function ledgerOf(money: MoneyHarness, accountId: string) {
  const { items } = await money.ledger.listTransfers(accountId, { first: 100 })
  const charges = items.filter(({ kind }) => kind === 'charge')
  return totalOf(charges.map(({ currency, amountNanoUsd }) => toAmounts({ currency, chargedNanoUsd: -amountNanoUsd })))
}

describe.each(EITHER_ENGINE)('sums of usage on %s', (engine) => {
  test('equal the ledger to the nano, in every zone, unit of time and split, closed or open or opened again', async () => {
    await using database = await createTestDatabase(engine)
    const { db } = database
    await fc.assert(
      fc.asyncProperty(
        fc.array(Charge, { minLength: 5, maxLength: 30 }),
        fc.array(Question, { minLength: QUESTIONS, maxLength: QUESTIONS }),
        async (charges, questions) => {
          const { accountId, clock, money, settled } = await settleAll(database, charges)
          const ledger = await ledgerOf(money, accountId)
          const cubes = new UsageService({ usage: new UsageRepository(db), clock, hourlyRetentionDays: 100 })
          for (const question of questions) {
            const { unit, dimensions, timeZone } = question
            const groupBy = unit === null ? dimensions : [...dimensions, unit]
            const cube = await cubes.cube(accountId, UsageQuery.parse({ ...RANGE, timeZone, groupBy }))
            expect(cube.totals).toMatchObject({ ...ledger, requests: settled.length })
            expect(cellsOf(cube, question)).toEqual(expectedCells(settled, question))
          }
          const reports = new UsageAnalyticsService({ analytics: new UsageAnalyticsRepository(db), clock })
          const report = await reports.report(accountId, { lookback: 30, startDate: RANGE.from, endDate: RANGE.to })
          for (const rows of [report.byDate, report.byModel, report.byKey]) expect(totalOf(rows)).toEqual(ledger)
          expect(totalOf(await historyOf(db, accountId))).toEqual(ledger)
          await expectKeyPeriods(await createKeyHarness(db, { clock }), accountId, settled)
          expect((await money.ledger.verify()).checks.filter(({ ok }) => !ok)).toEqual([])
        },
      ),
      { numRuns: RUNS },
    )
  })
})
