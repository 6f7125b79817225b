import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KeyCaller } from '../../../../../server/domain/caller.ts'
import { isTimeUnit, UsageQuery } from '../../../../../server/domain/usage/reports/inputs.ts'
import { USAGE_DIMENSIONS, type UsageCube } from '../../../../../server/domain/usage/reports/usage.ts'
import { UsageRepository } from '../../../../../server/domain/usage/reports/usage-repository.ts'
import { UsageService } from '../../../../../server/domain/usage/reports/usage-service.ts'
import { createTestDatabase, EITHER_ENGINE, type TestDatabase } from '../../../../support/database.ts'
import { createFakeClock } from '../../../../support/fake-clock.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../../../../support/money-harness.ts'

const HOUR_MS = 3_600_000
const HOURS_KEPT_DAYS = 100

/** Usage of a chat of so many tokens, at 3 and 7 nano-USD each. */
const chat = (model: string, input: number, output: number) =>
  usageOf(0n, {
    sku: model,
    modelName: model,
    lines: [
      { type: 'Input', units: input, amountNanoUsd: BigInt(input) * 3n },
      { type: 'Output', units: output, amountNanoUsd: BigInt(output) * 7n },
    ],
  })

/** Usage of an RPC request, as credits by method. */
const rpc = (network: string, credits: Record<string, number>) =>
  usageOf(0n, {
    sku: `crypto-rpc-${network}`,
    modelName: `crypto-rpc-${network}`,
    modelType: null,
    unitType: 'credits',
    lines: Object.entries(credits).map(([type, units]) => ({ type, units, amountNanoUsd: BigInt(units) * 625n })),
  })

describe.each(EITHER_ENGINE)('the usage cube on %s', (engine) => {
  let database: TestDatabase
  const clock = createFakeClock('2026-03-10T12:00:00.000Z')
  let money: MoneyHarness
  let service: UsageService
  let first: KeyCaller
  let second: KeyCaller

  const settle = async (caller: KeyCaller, usage: ReturnType<typeof usageOf>, holdNano = 10_000_000n) =>
    (await money.open(caller, holdNano)).settle(usage)
  const report = (query: object = {}, caller = first): Promise<UsageCube> =>
    service.cube(caller.accountId, UsageQuery.parse(query))
  const chargesOf = async ({ accountId }: KeyCaller) => {
    const { items } = await money.ledger.listTransfers(accountId, { first: 100 })
    return items.filter(({ kind }) => kind === 'charge').reduce((sum, transfer) => sum - transfer.amountNanoUsd, 0n)
  }
  const sum = ({ rows }: UsageCube) => ({
    requests: rows.reduce((total, row) => total + row.requests, 0),
    amountNanoUsd: rows.reduce((total, row) => total + row.amountNanoUsd, 0n),
  })

  beforeAll(async () => {
    database = await createTestDatabase(engine)
    money = createMoneyHarness(database.db, clock)
    await money.sweeper.start()
    service = new UsageService({ usage: new UsageRepository(database.db), clock, hourlyRetentionDays: HOURS_KEPT_DAYS })
    first = await money.addCaller({ usdNano: 1_000_000_000n, stakeNano: 20_000_000n })
    second = await money.addKey(first.accountId)
    const stranger = await money.addCaller({ usdNano: 1_000_000_000n })
    await settle(first, chat('alpha', 101, 13))
    await settle(second, chat('alpha', 7, 5), 50_000_000n)
    await settle(first, chat('beta', 1, 1), 50_000_000n)
    await settle(second, rpc('ethereum-mainnet', { eth_call: 40, eth_blockNumber: 20 }), 50_000_000n)
    await settle(stranger, rpc('ethereum-mainnet', { eth_call: 20 }))
    clock.advance(24 * HOUR_MS)
    await settle(first, rpc('ethereum-mainnet', { eth_call: 20 }), 50_000_000n)
    await settle(first, rpc('base-mainnet', { eth_call: 5, trace_block: 80 }), 50_000_000n)
    // Charged less than its lines say, since no charge exceeds its hold.
    await settle(second, chat('alpha', 1_000, 1_000), 9_999n)
    await (await money.open(first, 100n)).release()
  })
  afterAll(async () => {
    await money.sweeper.stop()
    await database.close()
  })

  const UNITS = USAGE_DIMENSIONS.filter(isTimeUnit)
  const OTHERS = USAGE_DIMENSIONS.filter((dimension) => !isTimeUnit(dimension))

  test.each([[[]], ...USAGE_DIMENSIONS.map((dimension) => [[dimension]]), ...UNITS.map((unit) => [[unit, ...OTHERS]])])(
    'split by %j add up to the charges of the ledger, to the nano',
    async (groupBy) => {
      const found = await report({ groupBy })
      expect(found.totals).toMatchObject({ requests: 7, amountNanoUsd: await chargesOf(first) })
      // A request counts with each method that it has.
      const requests = groupBy.includes('method') ? 13 : 7
      expect(sum(found)).toEqual({ requests, amountNanoUsd: found.totals.amountNanoUsd })
      expect(found.truncated).toBe(false)
    },
  )

  test('gives the credits of each network and method when split by them', async () => {
    const { rows } = await report({
      groupBy: ['network', 'method'],
      filter: { networks: ['ethereum-mainnet', 'base-mainnet'] },
    })
    expect(rows.map(({ network, method, units, amountNanoUsd }) => [network, method, units, amountNanoUsd])).toEqual([
      ['base-mainnet', 'trace_block', '80', 50_000n],
      ['ethereum-mainnet', 'eth_call', '60', 37_500n],
      ['ethereum-mainnet', 'eth_blockNumber', '20', 12_500n],
      ['base-mainnet', 'eth_call', '5', 3_125n],
    ])
  })

  test('names the day of admission and the key when split by day and key', async () => {
    const { rows } = await report({ groupBy: ['api_key', 'day'], filter: { networks: ['ethereum-mainnet'] } })
    expect(rows).toMatchObject([
      { day: '2026-03-10', apiKeyId: second.keyId, requests: 1, amountNanoUsd: 37_500n },
      { day: '2026-03-11', apiKeyId: first.keyId, requests: 1, amountNanoUsd: 12_500n },
    ])
  })

  test('separates the amounts paid in DIEM and in USD', async () => {
    const { rows } = await report({ groupBy: ['currency'] })
    const amountOf = (currency: string) => rows.find((row) => row.currency === currency)?.amountNanoUsd
    expect(amountOf('diem')).toBeGreaterThan(0n)
    expect(amountOf('usd')).toBeGreaterThan(0n)
    expect((await report({ filter: { currencies: ['diem'] } })).totals.amountNanoUsd).toBe(amountOf('diem'))
  })

  test('adds up units of one kind only', async () => {
    expect((await report()).rows).toMatchObject([{ units: null }])
    const { rows, totals } = await report({ groupBy: ['unit_type'] })
    expect(Object.fromEntries(rows.map(({ unitType, units }) => [unitType, units]))).toEqual({
      credits: '165',
      tokens: '2128',
    })
    expect(totals.units).toBeNull()
    expect((await report({ filter: { skus: ['beta'] } })).totals.units).toBe('2')
  })

  test.each([
    [{ skus: ['alpha', 'crypto-rpc-base-mainnet'] }, 4],
    [{ networks: ['base-mainnet'] }, 1],
    [{ skus: ['alpha'], networks: ['base-mainnet'] }, 0],
    [{ networks: ["' or 1 = 1 --"] }, 0],
  ])('limited to %j count %d requests', async (filter, requests) => {
    expect((await report({ filter })).totals.requests).toBe(requests)
  })

  test('shows the usage of a single key when limited to it', async () => {
    expect((await report({ filter: { apiKeyIds: [second.keyId] } })).totals.requests).toBe(3)
  })

  test('never shows the usage of another account, not even by its key', async () => {
    const stranger = await money.addCaller({ usdNano: 1_000n })
    await settle(stranger, chat('alpha', 1, 0), 10n)
    expect((await report({ filter: { apiKeyIds: [stranger.keyId] } })).rows).toEqual([])
    expect(await report({}, stranger)).toMatchObject({ totals: { requests: 1, amountNanoUsd: 3n } })
  })

  test('has no rows for days without usage, with totals of zero', async () => {
    const found = await report({ from: '2026-01-01', to: '2026-01-31', groupBy: ['day'] })
    expect(found).toEqual({
      from: '2026-01-01',
      to: '2026-01-31',
      timeZone: 'UTC',
      rows: [],
      totals: { requests: 0, units: '0', amountNanoUsd: 0n, usdNano: 0n, diemNano: 0n },
      truncated: false,
    })
  })

  test.each([
    ['in another zone', { timeZone: 'Europe/Berlin' }],
    ['by the hour', { groupBy: ['hour'] }],
  ])('%s is rejected before the days whose hours are kept', async (_what, query) => {
    const asked = { ...query, from: '2025-11-30', to: '2025-12-10' }
    await expect(report(asked)).rejects.toMatchObject({ code: 'invalid_request', field: 'from' })
    expect(await report({ ...query, from: '2025-12-03', to: '2025-12-10' })).toMatchObject({ rows: [] })
    expect(await report({ from: asked.from, to: asked.to, groupBy: ['week'] })).toMatchObject({ rows: [] })
  })

  test('covers whole days, the first and the last included', async () => {
    const requests = async (from: string, to: string) => (await report({ from, to })).totals.requests
    expect(await requests('2026-03-10', '2026-03-10')).toBe(4)
    expect(await requests('2026-03-11', '2026-03-12')).toBe(3)
    expect(await requests('2026-03-10', '2026-03-11')).toBe(7)
  })

  test('has at most 1,000 rows, the costliest first, and totals of all', async () => {
    const caller = await money.addCaller({ usdNano: 1_000_000_000n })
    const credits = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`method_${i}`, 1_001 - i]))
    await settle(caller, rpc('base-mainnet', credits), 500_000_000n)
    const found = await report({ groupBy: ['method'] }, caller)
    expect(found.truncated).toBe(true)
    expect(found.rows).toHaveLength(1_000)
    expect([found.rows[0]?.method, found.rows.at(-1)?.method]).toEqual(['method_0', 'method_999'])
    expect(found.totals.amountNanoUsd).toBe(await chargesOf(caller))
  })

  test('puts rows of the same amount in the order of their dimensions', async () => {
    const caller = await money.addCaller({ usdNano: 1_000_000n })
    for (const model of ['b', 'C', 'a', 'ä']) await settle(caller, chat(model, 1, 0), 100n)
    const { rows } = await report({ groupBy: ['sku'] }, caller)
    expect(rows.map(({ sku }) => sku)).toEqual(['C', 'a', 'b', 'ä'])
  })
})
