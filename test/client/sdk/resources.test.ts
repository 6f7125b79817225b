import { createPublicClient, custom } from 'viem'
import { mainnet } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NotFoundError, RpcError, ValidationError } from '../../../client/sdk/index.ts'
import { type RpcNodeServer, startRpcNode } from '../../support/rpc-node.ts'
import { errorOf, type SdkHarness, say, startSdkHarness } from '../../support/sdk-harness.ts'

let harness: SdkHarness
let node: RpcNodeServer

beforeAll(async () => {
  node = await startRpcNode()
  const networks = ['ethereum-mainnet', 'solana-mainnet'].map((slug) => [
    slug,
    { upstreams: [{ url: node.url + slug }] },
  ])
  harness = await startSdkHarness({ file: { rpc: { networks: Object.fromEntries(networks) } } })
})
afterAll(async () => {
  await harness[Symbol.asyncDispose]()
  await node.close()
})

const balance = () => harness.server.balanceNanoUsd(harness.account.accountId)

describe('embeddings', () => {
  test('are numbers, or base64 if requested', async () => {
    const { embeddings } = harness.sluice
    const floats = await embeddings.create({ model: 'test-embedding', input: ['one', 'two'] })
    expect(floats.data.map(({ embedding }) => embedding.length)).toEqual([8, 8])
    const texts = await embeddings.create({ model: 'test-embedding', input: 'one', encoding_format: 'base64' })
    expect(texts.data[0]?.embedding).toMatch(/^[A-Za-z0-9+/]+=*$/)
  })
})

describe('models', () => {
  test('are listed by type and read one by one, without a credential', async () => {
    const { models } = harness.connect({ apiKey: undefined })
    expect((await models.list()).map(({ id }) => id)).toEqual(['test-model', 'anonymous-model'])
    expect((await models.list({ type: 'embedding' })).map(({ id }) => id)).toEqual(['test-embedding'])
    expect((await models.retrieve('test-model')).model_spec.pricing?.input).toEqual({ usd: 0.15, diem: 0.15 })
    expect(await models.traits()).toEqual({ default: 'test-model' })
    expect(await models.compatibilityMapping()).toEqual({ 'gpt-4o': 'test-model' })
    expect(await errorOf(models.retrieve('no/such model'))).toBeInstanceOf(NotFoundError)
  })
})

describe('keys', () => {
  test('are created, listed, read, changed, rotated and revoked', async () => {
    const { apiKeys } = harness.sluice
    const created = await apiKeys.create({
      apiKeyType: 'INFERENCE',
      description: 'backend',
      consumptionLimit: { usd: 2.5 },
    })
    expect(created).toMatchObject({ description: 'backend', consumptionLimit: { usd: 2.5, diem: null } })
    const own = harness.connect({ apiKey: created.apiKey })
    await own.chat.completions.create(say('Hello'))
    const [listed] = await apiKeys.list()
    expect(listed).toEqual(await apiKeys.retrieve(created.id))
    expect(listed).toMatchObject({ id: created.id, usage: { trailingSevenDays: { diem: '0.0000' } } })
    const updated = await apiKeys.update(created.id, { description: 'changed', consumptionLimit: { usd: null } })
    expect(updated).toMatchObject({ description: 'changed', consumptionLimits: { usd: null } })
    const rotated = await apiKeys.rotate(created.id)
    expect(rotated).toMatchObject({ description: 'changed', type: 'INFERENCE' })
    const successor = harness.connect({ apiKey: async () => rotated.secret })
    await successor.chat.completions.create(say('Hello'))
    expect(await apiKeys.revoke(rotated.apiKeyId)).toBeUndefined()
    expect((await apiKeys.list()).map(({ id }) => id)).not.toContain(rotated.apiKeyId)
  })

  test('are rejected alike over REST and GraphQL if they do not exist', async () => {
    const { apiKeys } = harness.sluice
    const unknown = '018f0000-0000-7000-8000-000000000001'
    const calls = [apiKeys.update(unknown, { description: 'x' }), apiKeys.rotate(unknown)]
    for (const error of await Promise.all(calls.map(errorOf))) {
      expect(error).toBeInstanceOf(ValidationError)
      expect(error).toMatchObject({ status: 400, message: 'API key not found or expired' })
    }
  })
})

describe('JSON-RPC', () => {
  test('gives the result of a call, with its credits and price', async () => {
    const before = await balance()
    const call = harness.sluice.rpc.request<string>('ethereum-mainnet', { method: 'eth_blockNumber' })
    const { data, response } = await call.withResponse()
    expect(data).toBe('0x10d4f')
    expect(response).toMatchObject({ rpcCredits: 20, cost: { usd: '0.00001250', nanoUsd: null } })
    expect(before - (await balance())).toBe(12_500n)
  })

  test('gives the outcomes of a batch in the order of its calls, rejections among them', async () => {
    node.failNext({ kind: 'reorder' })
    const calls = [{ method: 'eth_blockNumber' }, { method: 'eth_getProof' }, { method: 'net_version', params: [] }]
    const { data, response } = await harness.sluice.rpc.batch('ethereum-mainnet', calls).withResponse()
    expect(data).toMatchObject([
      { ok: true, result: '0x10d4f' },
      { ok: false, error: { name: 'RpcError', code: -32601 } },
      { ok: true, result: '1' },
    ])
    expect(response.rpcCredits).toBe(45)
  })

  test("throws the node's own error", async () => {
    const error = await errorOf(harness.sluice.rpc.request('ethereum-mainnet', { method: 'eth_getProof', params: [] }))
    expect(error).toBeInstanceOf(RpcError)
    expect(error).toMatchObject({ code: -32601, response: { rpcCredits: 5 } })
  })

  test('keeps integers beyond 2^53 for callers that request bigints', async () => {
    const call = { method: 'getBalance', params: ['99P8'] }
    const exact = await harness.sluice.rpc.request('solana-mainnet', call, { bigints: true })
    expect(exact).toMatchObject({ context: { slot: 18_446_744_073_709_551_615n }, value: 9_007_199_254_740_993n })
    expect(await harness.sluice.rpc.request('solana-mainnet', call)).toMatchObject({ value: 9_007_199_254_740_992 })
  })

  test('serves viem as an EIP-1193 provider', async () => {
    const provider = harness.sluice.rpc.provider('ethereum-mainnet')
    const client = createPublicClient({ chain: mainnet, transport: custom(provider) })
    expect(await client.getBlockNumber()).toBe(0x10d4fn)
  })

  test('lists the networks', async () => {
    expect(await harness.connect({ apiKey: undefined }).rpc.networks()).toEqual(['ethereum-mainnet', 'solana-mainnet'])
  })
})

describe('the account', () => {
  test('shows its balances, and its whole ledger page by page', async () => {
    const { account, ledger, chat } = harness.sluice
    for (let sent = 0; sent < 5; sent++) await chat.completions.create(say('Hello'))
    const entries = []
    for await (const entry of ledger.list({ pageSize: 2 })) entries.push(entry)
    expect(entries.at(-1)).toMatchObject({ kind: 'GRANT', amount: '1', balanceAfter: '1' })
    expect(new Set(entries.map(({ transferId }) => transferId)).size).toBe(entries.length)
    const { balances } = await account.retrieve()
    expect(balances).toMatchObject([{ currency: 'USD', balance: entries[0]?.balanceAfter, held: '0' }])
    const all = await harness.server.app.services.money.ledger.verify()
    expect(all.ok).toBe(true)
  })

  test('fetches no further page when the loop is left, and continues from a cursor', async () => {
    const ledger = harness.sluice.ledger.list({ pageSize: 2 })
    const before = harness.proxy.seen.length
    for await (const _entry of ledger) break
    expect(harness.proxy.seen.length - before).toBe(1)
    const first = await ledger.page()
    const second = await ledger.page(first.nextCursor)
    expect(second.items.map(({ transferId }) => transferId)).not.toContain(first.items[0]?.transferId)
  })
})

describe('a quote', () => {
  test('equals the later charge of the request', async () => {
    const { data, response } = await harness.sluice.chat.completions.create(say('Hello')).withResponse()
    const { prompt_tokens: promptTokens, completion_tokens: maxTokens } = data.usage
    const quote = await harness.sluice.quote({ chat: { model: 'test-model', promptTokens, maxTokens } })
    expect(quote).toMatchObject({ price: response.cost?.usd, chat: { modelId: 'test-model' }, rpc: null })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' })
    const rpc = await harness.sluice.quote({ rpc: { network: 'ethereum-mainnet', body } })
    expect(rpc).toMatchObject({ price: '0.0000125', rpc: { credits: 20 } })
  })
})

describe('GraphQL', () => {
  test('runs any document, and returns the limits beside its data', async () => {
    const query = 'query($first: Int!) { models(first: $first) { nodes { modelId } } }'
    const call = harness.sluice.graphql<{ models: { nodes: { modelId: string }[] } }, { first: number }>(query, {
      first: 1,
    })
    const { data, response } = await call.withResponse()
    expect(data.models.nodes).toEqual([{ modelId: 'test-model' }])
    expect(response.requestId).toMatch(/^[0-9a-f]{32}$/)
    expect(response.rateLimits.requests?.remaining).toBeGreaterThan(0)
  })
})
