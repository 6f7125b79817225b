import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Fronts, freshAccount } from './fronts.ts'
import { globalId } from './graphql-lines.ts'
import { CHAT, type Scene, startScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene()
})
afterAll(async () => {
  await scene.server.assertLedgerClean()
  await scene[Symbol.asyncDispose]()
})

/** What an action left in the database, without what differs between any two runs. */
interface Left {
  keys: object[]
  transfers: object[]
  requests: object[]
}

async function leftBy({ accountId }: Fronts): Promise<Left> {
  const { db } = scene.server.database
  const keys = await db.selectFrom('api_keys').selectAll().where('account_id', '=', accountId).execute()
  const transfers = await db
    .selectFrom('ledger_transfers')
    .select(['currency', 'kind', 'debit_account', 'credit_account', 'amount_nano', 'balance_after_nano', 'reason'])
    .where('account_id', '=', accountId)
    .orderBy('sequence')
    .execute()
  const requests = await db
    .selectFrom('usage_events')
    .select(['currency', 'sku', 'model_name', 'model_type', 'unit_type', 'lines', 'charge_nano', 'hold_nano'])
    .select(['outcome', 'estimated', 'upstream_id', 'retries'])
    .where('account_id', '=', accountId)
    .orderBy('position')
    .execute()
  return {
    keys: keys.map(settingsOf).toSorted((a, b) => (a.description < b.description ? -1 : 1)),
    transfers,
    requests,
  }
}

interface KeyRow {
  type: string
  description: string
  limit_usd_nano: string | null
  limit_diem_nano: string | null
  limit_period: string
  model_privacy: string
  expires_at: Date | null
  revoked_at: Date | null
}

function settingsOf({ revoked_at: revokedAt, ...row }: KeyRow) {
  const { type, description, limit_usd_nano: usd, limit_diem_nano: diem, expires_at: expiresAt } = row
  const { limit_period: period, model_privacy: privacy } = row
  return { type, description, usd, diem, period, privacy, expiresAt, isRevoked: revokedAt !== null }
}

type Run = (fronts: Fronts) => Promise<unknown>

const spare = async ({ accountId }: Fronts): Promise<string> => {
  const { apiKeys } = scene.server.app.services.access
  const limits = { usdNano: 5n, diemNano: 7n }
  const settings = { type: 'INFERENCE', description: 'spare', limits, limitPeriod: 'EPOCH' } as const
  const { key } = await apiKeys.createForAccount(accountId, { ...settings, modelPrivacy: 'ALL', expiresAt: null })
  return key.id
}

const EXPIRY = '2030-01-31T12:00:00Z'
const RPC = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' }
const BATCH = [
  RPC,
  { ...RPC, id: 2, method: 'eth_gasPrice' },
  { ...RPC, id: 3, method: 'trace_block', params: ['0x1'] },
]
const CREATE = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename } }'
const UPDATE = 'mutation ($input: UpdateApiKeyInput!) { updateApiKey(input: $input) { __typename } }'

/** Each action with all fronts that have it. */
const ACTIONS: Record<string, Record<string, Run>> = {
  'making a key with the least that must be said': {
    rest: ({ rest }) => rest('POST', '/api_keys', { apiKeyType: 'ADMIN', description: 'made' }),
    graphql: ({ graphql }) => graphql(CREATE, { input: { type: 'ADMIN', description: 'made' } }),
    sdk: ({ sdk }) => sdk.apiKeys.create({ apiKeyType: 'ADMIN', description: 'made' }),
    operator: ({ operator, accountId }) =>
      operator.keys.create.mutate({ accountId, type: 'ADMIN', description: 'made' }),
  },
  'making a key with everything that can be said': {
    rest: ({ rest }) => rest('POST', '/api_keys', FULL),
    graphql: ({ graphql }) =>
      graphql(CREATE, { input: { ...COMMON, type: 'INFERENCE', limits: { usd: '1.5', diem: '0.25' } } }),
    sdk: ({ sdk }) => sdk.apiKeys.create(FULL),
    operator: ({ operator, accountId }) =>
      operator.keys.create.mutate({ ...COMMON, accountId, type: 'INFERENCE', limits: { usd: '1.5', diem: '0.25' } }),
  },
  'changing a key': {
    rest: async (fronts) =>
      fronts.rest('PATCH', '/api_keys', {
        id: await spare(fronts),
        ...COMMON,
        consumptionLimit: { usd: 3, diem: null },
      }),
    graphql: async (fronts) =>
      fronts.graphql(UPDATE, {
        input: { id: globalId('ApiKey', await spare(fronts)), ...COMMON, limits: { usd: '3', diem: null } },
      }),
    sdk: async (fronts) =>
      fronts.sdk.apiKeys.update(await spare(fronts), { ...COMMON, consumptionLimit: { usd: 3, diem: null } }),
  },
  'ending a key': {
    rest: async (fronts) => fronts.rest('DELETE', `/api_keys?id=${await spare(fronts)}`),
    graphql: async (fronts) =>
      fronts.graphql('mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { __typename } }', {
        id: globalId('ApiKey', await spare(fronts)),
      }),
    sdk: async (fronts) => fronts.sdk.apiKeys.revoke(await spare(fronts)),
    operator: async (fronts) =>
      fronts.operator.keys.revoke.mutate({ accountId: fronts.accountId, keyId: await spare(fronts) }),
  },
  'replacing a key': {
    graphql: async (fronts) =>
      fronts.graphql('mutation ($id: ID!) { rotateApiKey(input: { id: $id }) { __typename } }', {
        id: globalId('ApiKey', await spare(fronts)),
      }),
    sdk: async (fronts) => fronts.sdk.apiKeys.rotate(await spare(fronts)),
  },
  'a chat': {
    rest: ({ rest }) => rest('POST', '/chat/completions', CHAT),
    sdk: ({ sdk }) => sdk.chat.completions.create({ ...CHAT, messages: [{ role: 'user', content: 'hello' }] }),
  },
  'an embedding': {
    rest: ({ rest }) => rest('POST', '/embeddings', { model: 'test-embedding', input: ['a', 'b'] }),
    sdk: ({ sdk }) => sdk.embeddings.create({ model: 'test-embedding', input: ['a', 'b'] }),
  },
  'a call of a node': {
    rest: ({ rest }) => rest('POST', '/crypto/rpc/ethereum-mainnet', RPC),
    sdk: ({ sdk }) => sdk.rpc.request('ethereum-mainnet', { method: 'eth_blockNumber' }),
  },
  'a batch of calls': {
    rest: ({ rest }) => rest('POST', '/crypto/rpc/ethereum-mainnet', BATCH),
    sdk: ({ sdk }) => sdk.rpc.batch('ethereum-mainnet', BATCH),
  },
  'a grant, and taking some of it back': {
    operator: async ({ operator, accountId }) => {
      await operator.accounts.grant.mutate({ accountId, amountUsd: '2.000000001', reason: 'gift' })
      await operator.accounts.grant.mutate({ accountId, amountUsd: '-1', reason: 'mistake' })
    },
    domain: async ({ accountId }) => {
      const { accounts } = scene.server.app.services
      await accounts.grant({ accountId, amountNanoUsd: 2_000_000_001n, reason: 'gift' })
      await accounts.grant({ accountId, amountNanoUsd: -1_000_000_000n, reason: 'mistake' })
    },
  },
}

const COMMON = { description: 'all', limitPeriod: 'MONTH', modelPrivacy: 'PRIVATE_ONLY', expiresAt: EXPIRY } as const
const FULL = { ...COMMON, apiKeyType: 'INFERENCE', consumptionLimit: { usd: 1.5, diem: 0.25 } } as const

describe.each(Object.entries(ACTIONS))('%s', (_name, runs) => {
  test('leaves the same rows and the same ledger on every front', async () => {
    const left: [string, Left][] = []
    for (const [front, run] of Object.entries(runs)) {
      const fronts = await freshAccount(scene)
      const untouched = await leftBy(fronts)
      await run(fronts)
      left.push([front, await leftBy(fronts)])
      expect([front, left.at(-1)?.[1]]).not.toEqual([front, untouched])
    }
    const [first] = left
    for (const [front, rows] of left) expect([front, rows]).toEqual([front, first?.[1]])
  })
})

describe('a quote', () => {
  test('for a chat names the hold, and the charge for the expected tokens', async () => {
    const fronts = await freshAccount(scene)
    const { sdk, graphql } = fronts
    const messages = [{ role: 'user' as const, content: 'hello' }]
    const { hold } = await sdk.quote({ chat: { model: CHAT.model, messages, maxTokens: 1_000 } })
    const { usage } = await sdk.chat.completions.create({ model: CHAT.model, messages, max_tokens: 1_000 })
    const { prompt_tokens: promptTokens, completion_tokens: maxTokens } = usage ?? {
      prompt_tokens: 0,
      completion_tokens: 0,
    }
    const input = { chat: { model: CHAT.model, promptTokens, maxTokens } }
    const { data } = await graphql('query ($input: QuoteInput!) { quote(input: $input) { priceNanoUsd } }', { input })
    const [request] = await taken(fronts)
    expect([hold, data.quote.priceNanoUsd]).toEqual([usd(request?.hold_nano), String(request?.charge_nano)])
  })

  test('for a batch of calls names the charge if all calls succeed', async () => {
    const fronts = await freshAccount(scene)
    const body = JSON.stringify([RPC, { ...RPC, id: 2, method: 'trace_block', params: ['0x1'] }])
    const { price } = await fronts.sdk.quote({ rpc: { network: 'ethereum-mainnet', body } })
    await fronts.rest('POST', '/crypto/rpc/ethereum-mainnet', JSON.parse(body))
    expect((await taken(fronts)).map((request) => usd(request.charge_nano))).toEqual([price])
  })
})

function taken({ accountId }: Fronts) {
  const { db } = scene.server.database
  const columns = ['charge_nano', 'hold_nano'] as const
  return db.selectFrom('usage_events').select(columns).where('account_id', '=', accountId).execute()
}

function usd(nanoUsd = 0n): string {
  const text = String(nanoUsd).padStart(10, '0')
  return `${text.slice(0, -9)}.${text.slice(-9)}`.replace(/\.?0+$/, '')
}
