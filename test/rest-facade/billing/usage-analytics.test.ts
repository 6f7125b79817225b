import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BillingApp, chatUsage, rpcUsage, startBillingApp } from '../../support/billing-app.ts'
import type { Json } from '../../support/event-stream.ts'

let app: BillingApp
beforeAll(async () => {
  app = await startBillingApp()
})
afterAll(() => app.close())

const PATH = '/billing/usage-analytics'
/** Reads the same report through GraphQL, in the form of the REST body. */
const GRAPHQL = `query ($input: UsageAnalyticsInput!) { viewer { usageAnalytics(input: $input) {
  lookback topModels topKeyNames
  byDate { day usd diem }
  byModel { modelName unitType modelType usd diem units breakdown { type usd diem units } }
  byModelDaily { day points { name diem } }
  byKey { apiKeyId name usd diem units }
  byKeyDaily { day points { name diem } }
} } }`

const sum = (rows: Json[], field: string): number =>
  rows.reduce((total, row) => total + Math.round(row[field] * 1e9), 0)

describe('GET /billing/usage-analytics', () => {
  it('returns every field of the specification, by date, model and key', async () => {
    app.clock.set('2026-03-08T12:00:00.000Z')
    const owner = await app.createOwner({ stakeNano: 1_000n })
    const mobile = await owner.addKey('mobile')
    const backend = await owner.addKey('backend')
    await app.charge(mobile, chatUsage('Alpha', 100, 10))
    app.clock.set('2026-03-10T12:00:00.000Z')
    await app.charge(mobile, chatUsage('Beta', 200, 0))
    await app.charge(backend, chatUsage('Alpha', 1_000, 1_000))
    await app.charge(backend, rpcUsage('base-mainnet', { eth_call: 20 }))
    const { status, headers, body } = await owner.get(`${PATH}?lookback=3d`)
    expect(status).toBe(200)
    expect(headers.get('x-ratelimit-limit-requests')).not.toBeNull()
    expect(body).toEqual({
      lookback: '3d',
      byDate: [
        { date: '2026-03-08', USD: 0, DIEM: 3.7e-7 },
        { date: '2026-03-09', USD: 0, DIEM: 0 },
        { date: '2026-03-10', USD: 0.0000225, DIEM: 6e-7 },
      ],
      byModel: [
        {
          modelName: 'crypto-rpc-base-mainnet',
          unitType: 'credits',
          modelType: null,
          totalUsd: 0.0000125,
          totalDiem: 0,
          totalUnits: 20,
        },
        {
          modelName: 'Alpha',
          unitType: 'tokens',
          modelType: 'LLM',
          totalUsd: 0.00001,
          totalDiem: 3.7e-7,
          totalUnits: 2_110,
          breakdown: [
            { type: 'Output', usd: 0.000007, diem: 7e-8, units: 1_010 },
            { type: 'Input', usd: 0.000003, diem: 3e-7, units: 1_100 },
          ],
        },
        { modelName: 'Beta', unitType: 'tokens', modelType: 'LLM', totalUsd: 0, totalDiem: 6e-7, totalUnits: 200 },
      ],
      byModelDaily: [
        { date: Date.UTC(2026, 2, 8), 'crypto-rpc-base-mainnet': 0, Alpha: 3.7e-7, Beta: 0 },
        { date: Date.UTC(2026, 2, 9), 'crypto-rpc-base-mainnet': 0, Alpha: 0, Beta: 0 },
        { date: Date.UTC(2026, 2, 10), 'crypto-rpc-base-mainnet': 0, Alpha: 0, Beta: 6e-7 },
      ],
      topModels: ['crypto-rpc-base-mainnet', 'Alpha', 'Beta'],
      byKey: [
        { apiKeyId: backend.keyId, description: 'backend', totalUsd: 0.0000225, totalDiem: 0, totalUnits: 2_020 },
        { apiKeyId: mobile.keyId, description: 'mobile', totalUsd: 0, totalDiem: 9.7e-7, totalUnits: 310 },
      ],
      byKeyDaily: [
        { date: Date.UTC(2026, 2, 8), backend: 0, mobile: 3.7e-7 },
        { date: Date.UTC(2026, 2, 9), backend: 0, mobile: 0 },
        { date: Date.UTC(2026, 2, 10), backend: 0, mobile: 6e-7 },
      ],
      topKeyNames: ['backend', 'mobile'],
    })
  })

  it('is the same through GraphQL, and adds up to the ledger', async () => {
    const owner = await app.createOwner({ stakeNano: 50_000n })
    const [first, second] = [await owner.addKey('first'), await owner.addKey('second')]
    for (let i = 1; i <= 12; i++) {
      await app.charge(i % 3 === 0 ? second : first, chatUsage(`Model ${i % 5}`, 100 * i, 31 * i))
      await app.charge(second, rpcUsage(`network-${i % 7}`, { eth_call: i, eth_getLogs: 2 * i }))
    }
    const [rest, graphql] = [(await owner.get(PATH)).body, await owner.graphql(GRAPHQL, { input: {} })]
    const report = graphql.data.viewer.usageAnalytics
    const toChart = (rows: Json[]) =>
      rows.map(({ day, points }) => ({
        date: Date.parse(day),
        ...Object.fromEntries(points.map(({ name, diem }: Json) => [name, Number(diem)])),
      }))
    const toTotals = ({ usd, diem, units }: Json) => ({
      totalUsd: Number(usd),
      totalDiem: Number(diem),
      totalUnits: Number(units),
    })
    const toLine = ({ type, usd, diem, units }: Json) => ({
      type,
      usd: Number(usd),
      diem: Number(diem),
      units: Number(units),
    })
    expect({
      lookback: report.lookback,
      byDate: report.byDate.map(({ day, usd, diem }: Json) => ({ date: day, USD: Number(usd), DIEM: Number(diem) })),
      byModel: report.byModel.map(({ modelName, unitType, modelType, breakdown, ...sums }: Json) => ({
        modelName,
        unitType: unitType.toLowerCase(),
        modelType,
        ...toTotals(sums),
        ...(breakdown.length === 0 ? {} : { breakdown: breakdown.map(toLine) }),
      })),
      byModelDaily: toChart(report.byModelDaily),
      topModels: report.topModels,
      byKey: report.byKey.map(({ apiKeyId, name, ...sums }: Json) => ({
        apiKeyId,
        description: name,
        ...toTotals(sums),
      })),
      byKeyDaily: toChart(report.byKeyDaily),
      topKeyNames: report.topKeyNames,
    }).toEqual(rest)
    expect(rest.topModels).toHaveLength(8)
    expect(rest.byModel).toHaveLength(12)
    const { items } = await app.services.money.ledger.listTransfers(owner.accountId, { first: 100 })
    const charged = (currency: string) =>
      Number(
        items
          .filter((transfer) => transfer.kind === 'charge' && transfer.currency === currency)
          .reduce((total, { amountNanoUsd }) => total - amountNanoUsd, 0n),
      )
    expect([sum(rest.byDate, 'USD'), sum(rest.byDate, 'DIEM')]).toEqual([charged('usd'), charged('diem')])
    expect([sum(rest.byModel, 'totalUsd'), sum(rest.byModel, 'totalDiem')]).toEqual([charged('usd'), charged('diem')])
    expect([sum(rest.byKey, 'totalUsd'), sum(rest.byKey, 'totalDiem')]).toEqual([charged('usd'), charged('diem')])
    expect(charged('diem')).toBeGreaterThan(0)
  })

  it('gives keys whose descriptions are alike names of their own, and calls usage without a key Web App', async () => {
    const owner = await app.createOwner()
    const keys = [
      await owner.addKey('app'),
      await owner.addKey('app'),
      await owner.addKey('Web App'),
      await owner.addKey('date'),
    ]
    for (const key of keys) await app.charge(key, chatUsage('Alpha', 1, 0))
    const wallet = { kind: 'wallet', keyId: null, tier: 'staff', modelPrivacy: 'ALL', walletChain: 'evm' } as const
    await app.charge({ ...wallet, accountId: owner.accountId, walletAddress: '0x0' }, chatUsage('Alpha', 5, 0))
    const { body } = await owner.get(PATH)
    expect(body.byKey[0]).toEqual({
      apiKeyId: null,
      description: 'Web App',
      totalUsd: 1.5e-8,
      totalDiem: 0,
      totalUnits: 5,
    })
    expect(new Set(body.topKeyNames).size).toBe(5)
    expect(body.topKeyNames).not.toContain('date')
    const { data } = (await owner.get('/api_keys')).body
    const endOf = (id: string) => data.find((key: Json) => key.id === id).last6Chars
    for (const { apiKeyId, description } of body.byKey) {
      if (apiKeyId !== null) expect(description).toContain(endOf(apiKeyId))
    }
    expect(new Set(Object.keys(body.byKeyDaily[0]))).toEqual(new Set(['date', ...body.topKeyNames]))
  })

  it('shows keys after they were revoked, and nothing of another account', async () => {
    const [owner, stranger] = [await app.createOwner(), await app.createOwner()]
    const key = await owner.addKey('gone')
    await app.charge(key, chatUsage('Alpha', 1, 0))
    await fetch(`${app.server.baseUrl}/api_keys?id=${key.keyId}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${owner.adminKey}` },
    })
    expect((await owner.get(PATH)).body.byKey).toMatchObject([{ apiKeyId: key.keyId, description: 'gone' }])
    expect((await stranger.get(PATH)).body).toMatchObject({ byModel: [], byKey: [], topModels: [], topKeyNames: [] })
  })

  it('is cached for 10 minutes per account and range, and read once for concurrent requests', async () => {
    const owner = await app.createOwner()
    const key = await owner.addKey('key')
    const totalOf = async (query = '') => sum((await owner.get(`${PATH}${query}`)).body.byDate, 'USD')
    await app.charge(key, chatUsage('Alpha', 1, 0))
    expect(await Promise.all([totalOf(), totalOf(), totalOf()])).toEqual([3, 3, 3])
    await app.charge(key, chatUsage('Alpha', 1, 0))
    expect(await totalOf('?lookback=7d')).toBe(3)
    expect(await totalOf('?lookback=8d')).toBe(6)
    app.clock.advance(599_999)
    expect(await totalOf()).toBe(3)
    app.clock.advance(1)
    expect(await totalOf()).toBe(6)
  })

  it.each([
    ['', '7d', 7],
    ['?lookback=1d', '1d', 1],
    ['?lookback=90d', '90d', 90],
    ['?startDate=2026-02-27&endDate=2026-03-01', '2026-02-27:2026-03-01', 3],
    ['?startDate=2026-02-27&endDate=2026-03-01&lookback=30d', '2026-02-27:2026-03-01', 3],
    ['?startDate=2024-02-29&endDate=2024-02-29', '2024-02-29:2024-02-29', 1],
    ['?startDate=2026-01-01&endDate=2026-03-31', '2026-01-01:2026-03-31', 90],
  ])('for %s covers %s, with every day of it', async (query, lookback, days) => {
    const owner = await app.createOwner()
    const { body } = await owner.get(`${PATH}${query}`)
    expect(body.lookback).toBe(lookback)
    for (const rows of [body.byDate, body.byModelDaily, body.byKeyDaily]) expect(rows).toHaveLength(days)
    const dates = body.byDate.map(({ date }: Json) => date)
    expect(dates).toEqual(dates.toSorted())
    expect(new Set(dates).size).toBe(days)
  })

  it.each([
    ['lookback', '0d'],
    ['lookback', '91d'],
    ['lookback', '7D'],
    ['lookback', '7'],
    ['lookback', ''],
    ['lookback', '-7d'],
    ['lookback', '1.5d'],
    ['lookback', '07d'],
    ['lookback', '99999999999999999999d'],
  ])('rejects the %s %s and names both', async (field, value) => {
    const owner = await app.createOwner()
    const { status, body } = await owner.get(`${PATH}?${field}=${encodeURIComponent(value)}`)
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INVALID_REQUEST', details: { [field]: { _errors: [expect.any(String)] } } })
    expect(body.error).toContain(value)
  })

  it.each([
    ['endDate', '?startDate=2026-03-01'],
    ['startDate', '?endDate=2026-03-01'],
    ['startDate', '?endDate=2026-03-01&lookback=7d'],
    ['endDate', '?startDate=2026-03-02&endDate=2026-03-01'],
    ['endDate', '?startDate=2025-12-01&endDate=2026-03-01'],
    ['startDate', '?startDate=9999-01-01&endDate=9999-01-02'],
    ['startDate', '?startDate=0000-01-01&endDate=0000-01-02'],
    ['startDate', '?startDate=2026-02-30&endDate=2026-03-01'],
    ['startDate', '?startDate=2026-3-1&endDate=2026-03-02'],
    ['startDate', "?startDate=2026-03-01'%20or%201=1--&endDate=2026-03-02"],
    ['lookback', '?lookback=7d&lookback=8d'],
  ])('rejects, at %s, %s', async (field, query) => {
    const owner = await app.createOwner()
    const { status, body } = await owner.get(`${PATH}${query}`)
    expect(status).toBe(400)
    expect(body.details).toMatchObject({ [field]: { _errors: [expect.any(String)] } })
    expect(body.error).toContain(field)
    expect(body.error).toMatch(/is (missing|a list|"|\d{4}-)/)
  })

  it('rejects through GraphQL what it rejects over REST', async () => {
    const owner = await app.createOwner()
    const refused = async (input: object) => (await owner.graphql(GRAPHQL, { input })).errors[0]?.extensions
    expect(await refused({ lookback: '91d' })).toMatchObject({ code: 'BAD_USER_INPUT' })
    expect(await refused({ startDate: '2026-03-01' })).toMatchObject({ code: 'BAD_USER_INPUT' })
    expect(await refused({ startDate: '9999-01-01', endDate: '9999-01-02' })).toMatchObject({ code: 'BAD_USER_INPUT' })
  })
})
