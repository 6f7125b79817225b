import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ImmutableCache } from '../../../../server/domain/rpc/immutable-cache.ts'
import { NodeSender } from '../../../../server/domain/rpc/single-sender.ts'
import { bodyText, createRpcHarness } from '../../../support/rpc-harness.ts'
import { type RpcNodeServer, startRpcNode } from '../../../support/rpc-node.ts'

const HASH = `0x${'ab'.repeat(32)}`
const OTHER_HASH = `0x${'cd'.repeat(32)}`

let node: RpcNodeServer
let rpc: ReturnType<typeof createRpcHarness>

beforeAll(async () => {
  node = await startRpcNode()
})
afterAll(() => node.close())
beforeEach(() => {
  node.calls.length = 0
  node.results.set('eth_getBlockByNumber', '{"number":"0x64"}')
  rpc = createHarness(1_000_000)
})
afterEach(() => rpc[Symbol.asyncDispose]())

const createHarness = (maxBytes: number) =>
  createRpcHarness(
    { 'ethereum-mainnet': { upstreams: [{ url: node.url }] }, 'base-mainnet': { upstreams: [{ url: node.url }] } },
    {
      createSender: ({ router, nodes, clock }) =>
        new ImmutableCache(new NodeSender(router), { maxBytes, nodes, clock }),
    },
  )

const ask = async (id: string, method: string, params = '[]', network = 'ethereum-mainnet') => {
  const answer = await rpc.call(network, `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`)
  return bodyText(answer)
}
const asked = (method: string) => node.calls.filter(({ body }) => body.includes(`"${method}"`)).length
const receipt = (blockNumber: string, hash = HASH) =>
  `{"transactionHash":"${hash}","blockNumber":${blockNumber},"gasUsed":18446744073709551615}`

const lastUpstream = () => {
  const end = rpc.metering.records.at(-1)?.end
  return end?.kind === 'settled' ? end.usage.upstreamId : undefined
}

/** Asks twice; the calls between give time for what is kept beside the first answer. Tells how often the node heard it. */
async function askTwice(method: string, params = '[]') {
  await ask('1', method, params)
  for (const id of ['8', '9']) await ask(id, 'web3_clientVersion')
  await ask('2', method, params)
  return { nodeCalls: asked(method), from: lastUpstream() }
}

describe('is given from memory under the id of the caller, at the full price', () => {
  test.each([
    ['eth_chainId', '[]', '"0x1"'],
    ['net_version', '[]', '"1"'],
    ['eth_getTransactionReceipt', `["${HASH}"]`, receipt('"0x64"')],
    [
      'eth_getTransactionByHash',
      `["${HASH.toUpperCase().replace('X', 'x')}"]`,
      `{"hash":"${HASH}","blockNumber":"0x1"}`,
    ],
    ['eth_getBlockByHash', `["${HASH}",true]`, `{"hash":"${HASH}","number":"0x0","transactions":[]}`],
  ])('%s', async (method, params, result) => {
    node.results.set(method, result)
    expect(await ask('1', method, params)).toBe(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
    let again = ''
    await expect
      .poll(async () => {
        again = await ask('"b"', method, params)
        return lastUpstream()
      })
      .toBe('cache')
    expect(again).toBe(`{"jsonrpc":"2.0","id":"b","result":${result}}`)
    expect(rpc.metering.records.at(-1)?.end).toMatchObject({ chargedNanoUsd: 12_500n })
  })
})

describe('goes to the node every time', () => {
  test.each([
    ['a receipt above the final block', 'eth_getTransactionReceipt', `["${HASH}"]`, receipt('"0x65"')],
    ['a receipt of another transaction', 'eth_getTransactionReceipt', `["${HASH}"]`, receipt('"0x1"', OTHER_HASH)],
    ['a pending transaction', 'eth_getTransactionByHash', `["${HASH}"]`, `{"hash":"${HASH}","blockNumber":null}`],
    ['nothing yet', 'eth_getTransactionReceipt', `["${HASH}"]`, 'null'],
    ['an odd height', 'eth_getTransactionReceipt', `["${HASH}"]`, receipt('1')],
    ['the id of another chain', 'eth_chainId', '[]', '"0x5"'],
    ['what changes with every block', 'eth_getBalance', '["0x0","latest"]', '"0x1"'],
    ['a block by number', 'eth_getBlockByNumber', '["0x1",false]', `{"hash":"${HASH}","number":"0x1"}`],
  ])('%s', async (_, method, params, result) => {
    node.results.set(method, result)
    const { nodeCalls } = await askTwice(method, params)
    expect(nodeCalls).toBeGreaterThanOrEqual(2)
    expect(rpc.metering.records.map(({ end }) => end?.kind === 'settled' && end.usage.upstreamId)).not.toContain(
      'cache',
    )
    node.results.set('eth_chainId', '"0x1"')
  })

  test('an error', async () => {
    node.results.delete('eth_getTransactionReceipt')
    expect((await askTwice('eth_getTransactionReceipt', `["${HASH}"]`)).nodeCalls).toBe(2)
  })

  test('everything where the node knows no final block', async () => {
    node.results.set('eth_getTransactionReceipt', receipt('"0x1"'))
    node.results.delete('eth_getBlockByNumber')
    expect((await askTwice('eth_getTransactionReceipt', `["${HASH}"]`)).nodeCalls).toBe(2)
  })
})

test('one network never shares results with another', async () => {
  node.results.set('eth_getTransactionReceipt', receipt('"0x1"'))
  await askTwice('eth_getTransactionReceipt', `["${HASH}"]`)
  await ask('1', 'eth_getTransactionReceipt', `["${HASH}"]`, 'base-mainnet')
  expect(asked('eth_getTransactionReceipt')).toBe(2)
})

test('the final block is queried again after half a minute', async () => {
  node.results.set('eth_getTransactionReceipt', receipt('"0x65"'))
  await askTwice('eth_getTransactionReceipt', `["${HASH}"]`)
  node.results.set('eth_getBlockByNumber', '{"number":"0x65"}')
  rpc.clock.advance(30_000)
  expect((await askTwice('eth_getTransactionReceipt', `["${HASH}"]`)).from).toBe('cache')
  expect(asked('eth_getBlockByNumber')).toBe(2)
})

test('memory is bounded: the oldest responses make room', async () => {
  await rpc[Symbol.asyncDispose]()
  rpc = createHarness(2_000)
  for (let index = 0; index < 20; index += 1) {
    const hash = `0x${String(index).padStart(64, '0')}`
    node.results.set('eth_getTransactionReceipt', receipt('"0x1"', hash))
    await askTwice('eth_getTransactionReceipt', `["${hash}"]`)
  }
  node.calls.length = 0
  const first = `0x${'0'.repeat(64)}`
  node.results.set('eth_getTransactionReceipt', receipt('"0x1"', first))
  await ask('1', 'eth_getTransactionReceipt', `["${first}"]`)
  expect(asked('eth_getTransactionReceipt')).toBe(1)
})
