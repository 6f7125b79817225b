import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Fronts, freshAccount } from './fronts.ts'
import { CHAT, type Scene, startScene } from './scene.ts'

let scene: Scene
let fronts: Fronts

beforeAll(async () => {
  scene = await startScene()
  fronts = await freshAccount(scene)
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' }
  for (let count = 1; count <= 3; count++) {
    await fronts.rest('POST', '/chat/completions', { ...CHAT, max_tokens: 100 * count })
    await fronts.rest('POST', '/embeddings', { model: 'test-embedding', input: 'x'.repeat(count) })
    await fronts.rest('POST', '/crypto/rpc/ethereum-mainnet', [call, { ...call, method: 'trace_block', id: 2 }])
  }
})
afterAll(async () => {
  await scene.server.assertLedgerClean()
  await scene[Symbol.asyncDispose]()
})

const toNano = (usd: string | number): bigint => BigInt(Math.round(Number(usd) * 1e9))
const add = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n)

/** What the ledger itself says. */
async function posted(accountId: string) {
  const { db } = scene.server.database
  const columns = ['kind', 'amount_nano', 'balance_after_nano', 'transfer_id'] as const
  const rows = db.selectFrom('ledger_transfers').select(columns).where('account_id', '=', accountId)
  return rows.orderBy('sequence', 'desc').execute()
}

async function charged(): Promise<bigint> {
  return add((await posted(fronts.accountId)).filter(({ kind }) => kind === 'charge').map((row) => row.amount_nano))
}

describe('the numbers of an account are the same to the nano', () => {
  test('for its balance', async () => {
    const [newest] = await posted(fronts.accountId)
    const balance = newest?.balance_after_nano ?? 0n
    expect(balance).toBeGreaterThan(0n)
    const { headers, body } = await fronts.rest('GET', '/billing/balance')
    const { balances } = await fronts.sdk.account.retrieve()
    const { data } = await fronts.graphql('{ viewer { balances { balanceNanoUsd heldNanoUsd freeNanoUsd } } }')
    const account = await fronts.operator.accounts.get.query({ accountId: fronts.accountId })
    expect({
      header: toNano(headers.get('x-service-balance-usd') ?? ''),
      billing: toNano(body.balances.usd),
      sdk: toNano(balances[0]?.balance ?? ''),
      operator: toNano(account.balances.usd),
    }).toEqual({ header: balance, billing: balance, sdk: balance, operator: balance })
    expect(data.viewer.balances).toEqual([
      { balanceNanoUsd: String(balance), heldNanoUsd: '0', freeNanoUsd: String(balance) },
    ])
  })

  test('for its ledger, posting by posting', async () => {
    const rows = await posted(fronts.accountId)
    const ids = rows.map((row) => row.transfer_id)
    const sdk = []
    for await (const entry of fronts.sdk.ledger.list({ pageSize: 2 })) sdk.push(entry)
    const { data } = await fronts.graphql('{ viewer { ledger(first: 100) { nodes { transferId amountNanoUsd } } } }')
    const operator = await fronts.operator.accounts.ledger.query({ accountId: fronts.accountId, first: 100 })
    expect(sdk.map(({ transferId }) => transferId)).toEqual(ids)
    expect(operator.transfers.map(({ transferId }) => transferId)).toEqual(ids)
    expect(data.viewer.ledger.nodes.map(({ transferId }: { transferId: string }) => transferId)).toEqual(ids)
    const amounts: { amountNanoUsd: string }[] = data.viewer.ledger.nodes
    expect(amounts.map(({ amountNanoUsd }) => BigInt(amountNanoUsd))).toEqual(
      rows.map(({ kind, amount_nano: amount }) => (kind === 'charge' ? -amount : amount)),
    )
  })

  test('for its spending: report, history, cube, request log and keys', async () => {
    const spent = await charged()
    expect(spent).toBeGreaterThan(0n)
    const analytics = (await fronts.rest('GET', '/billing/usage-analytics')).body
    const history = (await fronts.rest('GET', '/billing/usage-history')).body
    const cube = await fronts.sdk.usage.cube({ groupBy: ['SKU'] })
    const requests = []
    for await (const request of fronts.sdk.requests.list()) requests.push(request)
    const [key] = await fronts.sdk.apiKeys.list()
    const { data } = await fronts.graphql('{ viewer { currentApiKey { usage { currentPeriod { usdNanoUsd } } } } }')
    const amounts = (rows: object[], name: string) =>
      add(rows.map((row) => toNano((row as Record<string, number>)[name] ?? 0)))
    expect({
      byDate: amounts(analytics.byDate, 'USD'),
      byModel: amounts(analytics.byModel, 'totalUsd'),
      byKey: amounts(analytics.byKey, 'totalUsd'),
      history: -amounts(history.data, 'amount'),
      cube: toNano(cube.totals.amount),
      rows: add(cube.rows.map(({ amount }) => toNano(amount))),
      requests: add(requests.map(({ charge }) => toNano(charge))),
      key: BigInt(data.viewer.currentApiKey.usage.currentPeriod.usdNanoUsd),
      // The specification gives keys four decimals.
      listed: key?.currentPeriodUsage.usd,
    }).toEqual({
      byDate: spent,
      byModel: spent,
      byKey: spent,
      history: spent,
      cube: spent,
      rows: spent,
      requests: spent,
      key: spent,
      listed: (Number(spent) / 1e9).toFixed(4),
    })
  })

  test('for its keys and their order', async () => {
    const ids = (await fronts.rest('GET', '/api_keys')).body.data.map(({ id }: { id: string }) => id)
    const { data } = await fronts.graphql('{ viewer { apiKeys { nodes { apiKeyId } } } }')
    const operator = await fronts.operator.keys.list.query({ accountId: fronts.accountId })
    expect((await fronts.sdk.apiKeys.list()).map(({ id }) => id)).toEqual(ids)
    expect(data.viewer.apiKeys.nodes.map(({ apiKeyId }: { apiKeyId: string }) => apiKeyId)).toEqual(ids)
    expect(operator.map(({ keyId }) => keyId)).toEqual(ids)
  })

  test('for its limits', async () => {
    const { rateLimits } = (await fronts.rest('GET', '/api_keys/rate_limits')).body.data
    const limits: Record<string, unknown> = {}
    for await (const { subject, windows } of fronts.sdk.rateLimits.list()) {
      limits[subject] = windows.map(({ type, limit }) => ({ type, amount: limit }))
    }
    for (const { apiModelId, rateLimits: amounts } of rateLimits) {
      expect([apiModelId, limits[apiModelId]]).toEqual([apiModelId, amounts])
    }
    expect(rateLimits.length).toBeGreaterThan(0)
  })

  test('for its rate-limited requests', async () => {
    const poor = await freshAccount(scene, { tier: 'standard' })
    const limits = { text: { XS: { requestsPerMinute: 1 } } }
    await poor.operator.limits.set.mutate({ accountId: poor.accountId, limits, reason: 'test' })
    await expect.poll(async () => (await poor.rest('POST', '/chat/completions', CHAT)).status).toBe(429)
    const log = (await poor.rest('GET', '/api_keys/rate_limits/log')).body.data
    const { data } = await poor.graphql(
      '{ viewer { rateLimitLog { nodes { apiKeyId subject tier type refusedAt } } } }',
    )
    const operator = await poor.operator.limits.refusals.query({ accountId: poor.accountId })
    expect(data.viewer.rateLimitLog.nodes).toEqual(
      log.map((entry: Record<string, string>) => ({
        apiKeyId: entry['apiKeyId'],
        subject: entry['modelId'],
        tier: entry['rateLimitTier'],
        type: entry['rateLimitType'],
        refusedAt: entry['timestamp'],
      })),
    )
    expect(operator.refusals.map(({ keyId, subject, at }) => [keyId, subject, at])).toEqual(
      log.map((entry: Record<string, string>) => [entry['apiKeyId'], entry['modelId'], entry['timestamp']]),
    )
    expect(log.length).toBeGreaterThan(0)
  })
})

test('a wallet reads the same of itself over REST and GraphQL', async () => {
  const { server, wallet } = scene
  const read = async (path: string) =>
    (await server.call(wallet.signer, `/x402/${path}/${wallet.signer.address}`)).json()
  const balance = (await read('balance')) as { data: { balanceUsd: number } }
  const list = (await read('transactions')) as { data: { transactions: { amount: number; id: string }[] } }
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${wallet.sessionToken}` },
    body: JSON.stringify({
      query: '{ viewer { balances { balanceNanoUsd } ledger { nodes { transferId amountNanoUsd kind } } } }',
    }),
  })
  const { data } = (await response.json()) as {
    data: {
      viewer: {
        balances: { balanceNanoUsd: string }[]
        ledger: { nodes: { transferId: string; amountNanoUsd: string; kind: string }[] }
      }
    }
  }
  expect(data.viewer.balances.map(({ balanceNanoUsd }) => BigInt(balanceNanoUsd))).toEqual([
    toNano(balance.data.balanceUsd),
  ])
  const posted = new Map(data.viewer.ledger.nodes.map((node) => [node.transferId, BigInt(node.amountNanoUsd)]))
  expect(list.data.transactions.length).toBeGreaterThan(0)
  for (const { id, amount } of list.data.transactions) expect([id, posted.get(id)]).toEqual([id, toNano(amount)])
})
