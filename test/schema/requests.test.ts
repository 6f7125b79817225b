import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Usage } from '../../server/domain/metering/hold.ts'
import type { Json } from '../support/event-stream.ts'
import { codes, type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { usageOf } from '../support/money-harness.ts'

const FIELDS = `requestId apiKeyId sku modelName modelType network outcome currency charge chargeNanoUsd hold unitType
  lines { type units unitPrice amount amountNanoUsd } estimated upstream retries durationMs admittedAt settledAt`

let harness: GraphqlHarness
let account: GraphqlTestAccount

beforeAll(async () => {
  harness = await startGraphqlHarness()
})
afterAll(() => harness.close())

/** Admits and settles one request; returns its id as CF-RAY names it. */
async function settle(of: GraphqlTestAccount, usage: Usage = usageOf(1_000n)): Promise<string> {
  // Ids of one millisecond have no order among themselves.
  harness.clock.advance(1)
  const metered = await harness.money.open(await harness.keys.auth.authenticateKey(of.inferenceKey), 250_000n)
  harness.clock.advance(10)
  await metered.settle(usage)
  return metered.hold.requestId.replaceAll('-', '')
}

async function release(of: GraphqlTestAccount, usage: Usage): Promise<string> {
  harness.clock.advance(1)
  const metered = await harness.money.open(await harness.keys.auth.authenticateKey(of.inferenceKey), 250_000n)
  await metered.release(usage)
  return metered.hold.requestId.replaceAll('-', '')
}

const list = async (of: GraphqlTestAccount, args = '', selection = 'requestId') => {
  const query = `{ viewer { requests${args} { nodes { ${selection} } pageInfo { hasNextPage endCursor } } } }`
  const answer = await harness.run(query, { key: of.adminKey })
  expect(answer.errors).toEqual([])
  return answer.data.viewer.requests
}
const idsOf = (page: Json): string[] => page.nodes.map((node: Json) => node.requestId)

describe('the receipt of a request', () => {
  it('shows its hold, its charge, its lines with the price that was used, and how it went', async () => {
    account = await harness.createAccount()
    const lines = [
      { type: 'Input', units: 1_000, amountNanoUsd: 37_500n, unitPriceUsd: '0.0000000375' },
      { type: 'Output', units: 5, amountNanoUsd: 2_500n, unitPriceUsd: '0.0000005' },
    ]
    const requestId = await settle(account, usageOf(0n, { lines, retries: 2, estimated: true }))
    const query = `query ($id: String!) { viewer { request(requestId: $id) { ${FIELDS} ledgerTransfer { kind amount balanceAfter } idempotency { key } } } }`
    const { data } = await harness.run(query, { key: account.adminKey, variables: { id: requestId } })
    expect(data.viewer.request).toEqual({
      requestId,
      apiKeyId: account.inferenceKeyId,
      sku: 'test-model',
      modelName: 'Test Model',
      modelType: 'LLM',
      network: null,
      outcome: 'COMPLETED',
      currency: 'USD',
      charge: '0.00004',
      chargeNanoUsd: '40000',
      hold: '0.00025',
      unitType: 'TOKENS',
      lines: [
        { type: 'Input', units: '1000', unitPrice: '0.0000000375', amount: '0.0000375', amountNanoUsd: '37500' },
        { type: 'Output', units: '5', unitPrice: '0.0000005', amount: '0.0000025', amountNanoUsd: '2500' },
      ],
      estimated: true,
      upstream: 'main',
      retries: 2,
      durationMs: 5,
      admittedAt: '2026-01-15T12:00:00.002Z',
      settledAt: '2026-01-15T12:00:00.012Z',
      ledgerTransfer: { kind: 'CHARGE', amount: '-0.00004', balanceAfter: '1.49996' },
      idempotency: null,
    })
  })

  it('is there for one that failed and cost nothing, without a posting', async () => {
    const { lines: _, ...usage } = usageOf(0n, { outcome: 'upstream_failed', upstreamId: null })
    const requestId = await release(account, usage as Usage)
    const query = `query ($id: String!) { viewer { request(requestId: $id) { outcome charge hold upstream lines { type } ledgerTransfer { kind } } } }`
    const { data } = await harness.run(query, { key: account.adminKey, variables: { id: requestId } })
    expect(data.viewer.request).toEqual({
      outcome: 'UPSTREAM_FAILED',
      charge: '0',
      hold: '0.00025',
      upstream: null,
      lines: [],
      ledgerTransfer: null,
    })
    expect((await harness.money.ledger.verify()).ok).toBe(true)
  })

  it('leads to its posting and back, and can be fetched again as a node', async () => {
    const requestId = await settle(account)
    const ledger = '{ viewer { ledger(first: 1) { nodes { request { id requestId ledgerTransfer { amount } } } } } }'
    const { request } = (await harness.run(ledger, { key: account.adminKey })).data.viewer.ledger.nodes[0]
    expect(request).toMatchObject({ requestId, ledgerTransfer: { amount: '-0.000001' } })
    const node = 'query ($id: ID!) { node(id: $id) { __typename ... on Request { requestId } } }'
    const answer = await harness.run(node, { key: account.adminKey, variables: { id: request.id } })
    expect(answer.data.node).toEqual({ __typename: 'Request', requestId })
  })

  it('is null for a request of another account', async () => {
    const requestId = await settle(account)
    const other = await harness.createAccount()
    const query = 'query ($id: String!) { viewer { request(requestId: $id) { requestId } } }'
    const answer = await harness.run(query, { key: other.adminKey, variables: { id: requestId } })
    expect([answer.errors, answer.data.viewer.request]).toEqual([[], null])
  })

  it.each([['x'], [''], ['0'.repeat(31)], ["' or 1=1"], ['g'.repeat(32)]])(
    'is rejected for %j, which is not an id',
    async (id) => {
      const query = 'query ($id: String!) { viewer { request(requestId: $id) { requestId } } }'
      const answer = await harness.run(query, { key: account.adminKey, variables: { id } })
      expect(answer.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', field: 'requestId' } }])
    },
  )

  it.each([['0'.repeat(32)], ['f'.repeat(32)], [`ffffffffffff7${'0'.repeat(19)}`]])(
    'is null for the id %s',
    async (id) => {
      const query = 'query ($id: String!) { viewer { request(requestId: $id) { requestId } } }'
      const answer = await harness.run(query, { key: account.adminKey, variables: { id } })
      expect([answer.errors, answer.data.viewer.request]).toEqual([[], null])
    },
  )
})

describe('the log', () => {
  it('shows every request once, newest first, over pages and over days with nothing between', async () => {
    const own = await harness.createAccount()
    const ids = [await settle(own), await settle(own)]
    harness.clock.advance(40 * 86_400_000)
    ids.push(await settle(own), await settle(own), await settle(own))
    const seen: string[] = []
    let after: string | null = null
    for (let pages = 0; pages < 10; pages++) {
      const page: Json = await list(own, `(first: 2${after === null ? '' : `, after: "${after}"`})`)
      seen.push(...idsOf(page))
      if (page.pageInfo.hasNextPage !== true) break
      after = page.pageInfo.endCursor
    }
    expect(seen).toEqual(ids.toReversed())
  })

  it('filters by key, model, outcome and time', async () => {
    const own = await harness.createAccount()
    const [first, failed, rpc] = [
      await settle(own),
      await release(own, usageOf(0n, { outcome: 'upstream_failed' })),
      await settle(own, usageOf(12_500n, { sku: 'crypto-rpc-base-mainnet', unitType: 'credits', modelType: null })),
    ]
    const between = harness.clock.now().toISOString()
    harness.clock.advance(1_000)
    const last = await settle(own)
    const filtered = async (filter: string) => idsOf(await list(own, `(filter: { ${filter} })`))
    expect(await filtered('skus: ["crypto-rpc-base-mainnet"]')).toEqual([rpc])
    expect(await filtered('outcomes: [UPSTREAM_FAILED, RELEASED]')).toEqual([failed])
    expect(await filtered(`from: "${between}"`)).toEqual([last])
    expect(await filtered(`to: "${between}"`)).toEqual([rpc, failed, first])
    expect(await filtered(`apiKeyIds: ["${own.inferenceKeyId}"]`)).toHaveLength(4)
    expect(await filtered(`apiKeyIds: ["${own.adminKeyId}"]`)).toEqual([])
    expect((await list(own, '(filter: { skus: ["crypto-rpc-base-mainnet"] })', 'network')).nodes).toEqual([
      { network: 'base-mainnet' },
    ])
  })

  it.each([
    ['first: 101', 'first'],
    ['after: "x"', 'after'],
    ['filter: { from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z" }', 'to'],
    ['filter: { from: "9999-01-02T00:00:00Z" }', 'from'],
    ['filter: { apiKeyIds: ["x"] }', 'apiKeyIds.0'],
    ['filter: { skus: [] }', 'skus'],
  ])('rejects %s and names the field', async (args, field) => {
    const answer = await harness.run(`{ viewer { requests(${args}) { nodes { requestId } } } }`, {
      key: account.adminKey,
    })
    expect(answer.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', field } }])
  })

  it("rejects a cursor of another account's log and of another list", async () => {
    const other = await harness.createAccount()
    await settle(other)
    const { pageInfo } = await list(other)
    const ledger = '{ viewer { ledger { pageInfo { endCursor } } } }'
    const { endCursor } = (await harness.run(ledger, { key: account.adminKey })).data.viewer.ledger.pageInfo
    for (const after of [pageInfo.endCursor, endCursor]) {
      const query = `{ viewer { requests(after: "${after}") { nodes { requestId } } } }`
      expect(codes(await harness.run(query, { key: account.adminKey }))).toEqual(['BAD_USER_INPUT'])
    }
  })
})
