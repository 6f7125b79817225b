import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codes, type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { usageOf } from '../support/money-harness.ts'

let harness: GraphqlHarness
let account: GraphqlTestAccount

beforeAll(async () => {
  harness = await startGraphqlHarness()
  account = await harness.createAccount()
  const caller = await harness.keys.auth.authenticateKey(account.inferenceKey)
  const settle = async (usage: ReturnType<typeof usageOf>) =>
    (await harness.money.open(caller, 100_000_000n)).settle(usage)
  await settle(usageOf(1_234_567n))
  await settle(
    usageOf(0n, {
      sku: 'crypto-rpc-base-mainnet',
      modelType: null,
      unitType: 'credits',
      lines: [
        { type: 'eth_call', units: 40, amountNanoUsd: 25_000n },
        { type: 'eth_chainId', units: 20, amountNanoUsd: 12_500n },
      ],
    }),
  )
})
afterAll(() => harness.close())

const QUERY = `query ($input: UsageInput!) { viewer { usage(input: $input) {
  from to timeZone truncated
  totals { requests units amount amountNanoUsd usd diem }
  rows { startsAt day sku network method apiKeyId currency unitType modelType requests units amount amountNanoUsd usd diem }
} } }`
const read = (input: object) => harness.run(QUERY, { key: account.adminKey, variables: { input } })
const usage = async (input: object) => (await read(input)).data.viewer.usage

describe('usage', () => {
  it('covers the last 7 days in one row without an input', async () => {
    const query = '{ viewer { usage { from to rows { requests amount day } totals { requests amount } } } }'
    expect((await harness.run(query, { key: account.adminKey })).data.viewer.usage).toEqual({
      from: '2026-01-09',
      to: '2026-01-15',
      rows: [{ requests: 2, amount: '0.001272067', day: null }],
      totals: { requests: 2, amount: '0.001272067' },
    })
  })

  it('gives every dimension that is asked for, and null for the others', async () => {
    const all = ['DAY', 'SKU', 'NETWORK', 'METHOD', 'API_KEY', 'CURRENCY', 'UNIT_TYPE', 'MODEL_TYPE']
    const { rows } = await usage({ groupBy: all, filter: { networks: ['base-mainnet'] } })
    expect(rows).toHaveLength(2)
    expect(rows[0]).toEqual({
      startsAt: '2026-01-15T00:00:00.000Z',
      day: '2026-01-15',
      sku: 'crypto-rpc-base-mainnet',
      network: 'base-mainnet',
      method: 'eth_call',
      apiKeyId: account.inferenceKeyId,
      currency: 'USD',
      unitType: 'CREDITS',
      modelType: null,
      requests: 1,
      units: '40',
      amount: '0.000025',
      amountNanoUsd: '25000',
      usd: '0.000025',
      diem: '0',
    })
    const [row] = (await usage({ groupBy: ['METHOD'], filter: { skus: ['test-model'] } })).rows
    expect(row).toMatchObject({ method: 'Input', sku: null, network: null, day: null, unitType: null, units: '10' })
  })

  it.each([
    ['Pacific/Kiritimati', 'HOUR', '2026-01-15T12:00:00.000Z', '2026-01-16'],
    ['Asia/Kathmandu', 'HOUR', '2026-01-15T11:15:00.000Z', '2026-01-15'],
    ['Asia/Kathmandu', 'DAY', '2026-01-14T18:15:00.000Z', '2026-01-15'],
    ['America/New_York', 'WEEK', '2026-01-12T05:00:00.000Z', '2026-01-12'],
    ['America/New_York', 'MONTH', '2026-01-01T05:00:00.000Z', '2026-01-01'],
  ])('in %s is split by the %s of that zone', async (timeZone, unit, startsAt, day) => {
    const found = await usage({ timeZone, groupBy: [unit], orderBy: 'TIME' })
    const measures = { requests: 2, amount: '0.001272067', usd: '0.001272067', diem: '0' }
    expect(found).toMatchObject({ timeZone, rows: [{ startsAt, day, ...measures }], totals: measures })
  })

  it('can be limited to methods, kinds of units and kinds of models', async () => {
    const requestsOf = async (filter: object) => (await usage({ filter })).totals
    expect(await requestsOf({ methods: ['eth_chainId'] })).toMatchObject({
      requests: 1,
      units: '20',
      amount: '0.0000125',
    })
    expect(await requestsOf({ unitTypes: ['CREDITS'] })).toMatchObject({ requests: 1, units: '60' })
    expect(await requestsOf({ modelTypes: ['LLM'] })).toMatchObject({ requests: 1, units: '10' })
  })

  it.each([
    ['timeZone', { timeZone: 'Europe/Atlantis' }],
    ['timeZone', { timeZone: '+05:17' }],
    ['timeZone', { timeZone: '' }],
    ['timeZone', { timeZone: "UTC'; select 1" }],
    ['groupBy', { groupBy: ['DAY', 'WEEK'] }],
    ['to', { from: '2026-01-10' }],
    ['to', { from: '2026-01-10', to: '2026-01-09' }],
    ['to', { from: '2025-01-01', to: '2026-01-01' }],
    ['from', { from: '2026-02-30', to: '2026-03-01' }],
    ['from', { from: '9999-01-01', to: '9999-12-31' }],
    ['filter.apiKeyIds.0', { filter: { apiKeyIds: ["' or 1 = 1"] } }],
  ])('is rejected at %s: %j', async (field, input) => {
    expect((await read(input)).errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', field } }])
  })

  it.each([[{ from: 20260110, to: '2026-01-11' }], [{ groupBy: ['MINUTE'] }], [{ groupBy: null }]])(
    'is rejected with a code for %j, which does not fit its types',
    async (input) => {
      expect(codes(await read(input))).toEqual(['BAD_USER_INPUT'])
    },
  )

  it('is not visible to another account, even by its key', async () => {
    const { adminKey } = await harness.createAccount()
    const variables = { input: { filter: { apiKeyIds: [account.inferenceKeyId] } } }
    const answer = await harness.run(QUERY, { key: adminKey, variables })
    expect(answer.data.viewer.usage).toMatchObject({ rows: [], totals: { requests: 0, units: '0', amount: '0' } })
  })

  it('is counted as work: nine reports are served in one operation, ten are not', async () => {
    const reports = (count: number) =>
      `{ viewer { ${Array.from({ length: count }, (_, i) => `r${i}: usage { rows { amount } }`).join(' ')} } }`
    expect((await harness.run(reports(9), { key: account.adminKey })).errors).toEqual([])
    expect(codes(await harness.run(reports(10), { key: account.adminKey }))).toEqual(['QUERY_TOO_COMPLEX'])
  })
})
