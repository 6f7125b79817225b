import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bodyText, createRpcHarness } from '../../../support/rpc-harness.ts'
import { type RpcNodeServer, startRpcNode } from '../../../support/rpc-node.ts'

let node: RpcNodeServer
let rpc: ReturnType<typeof createRpcHarness>

beforeAll(async () => {
  node = await startRpcNode()
})
afterAll(() => node.close())
beforeEach(() => {
  node.calls.length = 0
  const upstreams = [{ url: node.url }]
  rpc = createRpcHarness({ 'ethereum-mainnet': { upstreams }, 'solana-mainnet': { upstreams } })
})
afterEach(() => rpc[Symbol.asyncDispose]())

const CHAIN_ID = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'

const ends = () => rpc.metering.records.map(({ end }) => (end?.kind === 'settled' ? end.chargedNanoUsd : end?.kind))

describe('a single call', () => {
  test('goes to the node and back byte for byte and costs its tier', async () => {
    const body =
      ' { "method":"getBalance", "params":[ {"b":1,"a":18446744073709551615} ],"id":"\\u0041","jsonrpc":"2.0" }\n'
    const answer = await rpc.call('solana-mainnet', body)
    expect(node.calls[0]).toMatchObject({ body, headers: { 'content-type': 'application/json' } })
    expect(await bodyText(answer)).toBe(
      '{"jsonrpc":"2.0","id":"\\u0041","result":{"context":{"apiVersion":"2.1.0","slot":18446744073709551615},"value":9007199254740993}}',
    )
    expect(answer).toMatchObject({ status: 200, credits: 30, costUsd: '0.00001875', retries: 0 })
    expect(ends()).toEqual([18_750n])
  })

  test('costs 5 credits and refunds the rest if its response is an error object', async () => {
    const answer = await rpc.call('ethereum-mainnet', '{"jsonrpc":"2.0","id":1,"method":"debug_traceTransaction"}')
    expect(await bodyText(answer)).toContain('"error":{"code":-32601')
    expect(answer).toMatchObject({ status: 200, credits: 5, costUsd: '0.00000313' })
    expect(rpc.metering.records[0]).toMatchObject({
      admission: { holdNanoUsd: 25_000n, plan: { credits: { weight: 40 } } },
      end: { chargedNanoUsd: 3_125n, usage: { outcome: 'rpc_error' } },
      usedCredits: 5,
    })
  })

  test('is written to the usage under its network and method', async () => {
    await rpc.call('ethereum-mainnet', CHAIN_ID)
    expect(rpc.metering.records[0]?.end).toMatchObject({
      usage: {
        sku: 'crypto-rpc-ethereum-mainnet',
        modelName: 'crypto-rpc-ethereum-mainnet',
        modelType: null,
        unitType: 'credits',
        lines: [{ type: 'eth_chainId', units: 20, amountNanoUsd: 12_500n }],
        outcome: 'completed',
        upstreamId: 'ethereum-mainnet#1',
      },
    })
  })

  test('is forwarded without an id, gets 204 and costs its tier', async () => {
    const answer = await rpc.call('ethereum-mainnet', '{"jsonrpc":"2.0","method":"eth_chainId"}')
    expect(answer).toMatchObject({ status: 204, credits: 20, body: Buffer.alloc(0) })
    expect(ends()).toEqual([12_500n])
  })

  test('is rebuilt around its raw parts when it has extra members', async () => {
    await rpc.call('ethereum-mainnet', '{"x":1,"id":1e0,"method":"eth_chainId"}').catch(() => undefined)
    await rpc.call('ethereum-mainnet', '{"x":1,"id": 7,"method":"eth_chainId","params":[ 1 ]}')
    expect(node.calls.map(({ body }) => body)).toEqual([
      '{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":[ 1 ]}',
    ])
  })

  test('gets its response only after its charge is durable', async () => {
    const gate = Promise.withResolvers<void>()
    rpc.metering.settleGate = gate.promise
    let answered = false
    const answer = rpc.call('ethereum-mainnet', CHAIN_ID).then((response) => {
      answered = true
      return response
    })
    await expect.poll(() => ends()).toEqual([12_500n])
    expect(answered).toBe(false)
    gate.resolve()
    expect((await answer).credits).toBe(20)
  })
})

test('a response whose charge fails is not given', async () => {
  rpc.metering.settleFailure = new Error('the database is gone')
  await expect(rpc.call('ethereum-mainnet', CHAIN_ID)).rejects.toThrow('the database is gone')
})

describe('rejects without admitting or calling a node', () => {
  test.each([
    ['an unknown network, listing the valid ones', 'base', CHAIN_ID, /arbitrum-mainnet, .*zksync-sepolia/],
    ['a method of another family', 'solana-mainnet', CHAIN_ID, /"eth_chainId" \(it is a method of the evm family/],
    ['a filter method, naming what to use', 'ethereum-mainnet', '{"method":"eth_newFilter"}', /use eth_getLogs/],
    [
      'a batch, listing every offending name',
      'ethereum-mainnet',
      `[${CHAIN_ID},{"method":"eth_sign"},{"method":"nope"},{"method":"eth_sign"}]`,
      /not supported: "eth_sign" \(.*\), "nope" \(.*nothing of the batch/,
    ],
    ['malformed JSON', 'ethereum-mainnet', '{', /Invalid JSON/],
  ])('%s', async (_, network, body, message) => {
    await expect(rpc.call(network, body)).rejects.toThrow(message)
    expect([rpc.metering.records, node.calls]).toEqual([[], []])
  })

  test('a call that the balance does not cover', async () => {
    rpc.metering.balanceNanoUsd = 12_499n
    await expect(rpc.call('ethereum-mainnet', CHAIN_ID)).rejects.toMatchObject({ code: 'insufficient_balance' })
    expect(node.calls).toEqual([])
  })

  test('a network without a node, as unavailable', async () => {
    await expect(rpc.call('base-mainnet', CHAIN_ID)).rejects.toMatchObject({ code: 'unavailable' })
    expect(ends()).toEqual(['released'])
  })
})

describe('a response that is none costs nothing and says nothing of the node', () => {
  test.each([
    ['500', { kind: 'status', status: 500 }],
    ['401', { kind: 'status', status: 401 }],
    ['429', { kind: 'status', status: 429 }],
    ['404 without JSON-RPC', { kind: 'status', status: 404 }],
    ['400 with a result', { kind: 'status', status: 400, body: '{"result":1}' }],
    ['a redirect', { kind: 'status', status: 302, body: '{"result":1}' }],
    ['HTML', { kind: 'html' }],
    ['truncated JSON', { kind: 'truncate' }],
    ['an empty body', { kind: 'empty' }],
    ['204 to a call with id', { kind: 'empty', status: 204 }],
    ['a hang-up before the head', { kind: 'hang-up' }],
    ['a hang-up in the body', { kind: 'hang-up', afterBytes: 100 }],
    ['an array', { kind: 'status', status: 200, body: '[{"result":1}]' }],
    ['JSON that is no answer', { kind: 'status', status: 200, body: '{"id":1}' }],
  ] as const)('%s', async (_, fault) => {
    node.failNext(fault)
    const error: unknown = await rpc.call('ethereum-mainnet', CHAIN_ID).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'rpc_upstream_failed' })
    expect(String(error)).not.toMatch(/127\.0\.0\.1|secret|internal|html/)
    expect(ends()).toEqual(['released'])
  })

  test('a 4xx that carries a JSON-RPC error is relayed for 5 credits', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad params"}}'
    node.failNext({ kind: 'status', status: 400, body })
    const answer = await rpc.call('ethereum-mainnet', CHAIN_ID)
    expect([answer.status, answer.credits, await bodyText(answer)]).toEqual([200, 5, body])
  })
})

describe('a large response', () => {
  const MEGABYTES_20 = 20_000_000

  test('streams through; its last bytes wait for the charge', async () => {
    node.failNext({ kind: 'huge', bytes: MEGABYTES_20 })
    const { body, credits } = await rpc.call('ethereum-mainnet', CHAIN_ID)
    if (Buffer.isBuffer(body)) throw new Error('a large answer was buffered')
    expect(credits).toBe(20)
    let size = 0
    for await (const chunk of body) {
      const isLast = chunk.at(-1) === 0x7d
      if (size < MEGABYTES_20 / 2) expect(ends()).toEqual([undefined])
      if (isLast) expect(ends()).toEqual([12_500n])
      size += chunk.length
    }
    expect(size).toBe(MEGABYTES_20 + '{"jsonrpc":"2.0","id":1,"result":""}'.length)
  })

  test('is priced as an error before it ends if it is one', async () => {
    node.failNext({ kind: 'huge', bytes: 1_000_000, member: 'error' })
    const answer = await rpc.call('ethereum-mainnet', CHAIN_ID)
    expect(answer.credits).toBe(5)
    expect((await bodyText(answer)).length).toBeGreaterThan(1_000_000)
    expect(ends()).toEqual([3_125n])
  })

  test('costs nothing and fails if it breaks off', async () => {
    node.results.set('eth_getLogs', `"${'a'.repeat(1_000_000)}"`)
    node.failNext({ kind: 'truncate' })
    const answer = await rpc.call('ethereum-mainnet', '{"jsonrpc":"2.0","id":1,"method":"eth_getLogs"}')
    await expect(bodyText(answer)).rejects.toMatchObject({ code: 'rpc_upstream_failed' })
    expect(ends()).toEqual(['released'])
  })

  test('is charged as announced if its reader leaves, and the node call is cancelled', async () => {
    node.failNext({ kind: 'huge', bytes: MEGABYTES_20 })
    const { body } = await rpc.call('ethereum-mainnet', CHAIN_ID)
    for await (const _ of body as AsyncIterable<Uint8Array>) break
    expect(rpc.metering.records[0]?.end).toMatchObject({
      chargedNanoUsd: 12_500n,
      usage: { outcome: 'client_disconnected' },
    })
    await expect.poll(() => node.calls[0]?.aborted).toBe(true)
  })

  test('is charged as announced if its client disconnects', async () => {
    const client = new AbortController()
    node.failNext({ kind: 'huge', bytes: MEGABYTES_20 })
    const answer = await rpc.call('ethereum-mainnet', CHAIN_ID, client.signal)
    client.abort()
    await expect(bodyText(answer)).rejects.toThrow()
    expect(ends()).toEqual([12_500n])
  })
})

test('a client that disconnects before the response begins pays nothing, and the node call is cancelled', async () => {
  const gate = Promise.withResolvers<void>()
  const client = new AbortController()
  node.failNext({ kind: 'gate', until: gate.promise })
  const answer = rpc.call('ethereum-mainnet', CHAIN_ID, client.signal)
  await expect.poll(() => node.calls.length).toBe(1)
  client.abort()
  await expect(answer).rejects.toThrow()
  expect(ends()).toEqual(['released'])
  await expect.poll(() => node.calls[0]?.aborted).toBe(true)
  gate.resolve()
})
