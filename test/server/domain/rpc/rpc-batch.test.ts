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
  rpc = createRpcHarness({
    'ethereum-mainnet': { upstreams: [{ url: node.url }] },
    'base-mainnet': { upstreams: [{ url: node.url, maxBatch: 2 }] },
    'bsc-mainnet': { upstreams: [{ url: node.url, maxBatch: 1 }] },
  })
})
afterEach(() => rpc[Symbol.asyncDispose]())

const item = (id: string | number, method = 'eth_chainId') => `{"jsonrpc":"2.0","id":${id},"method":"${method}"}`
const notification = '{"jsonrpc":"2.0","method":"eth_chainId"}'
const ok = (id: string | number, result = '"0x1"') => `{"jsonrpc":"2.0","id":${id},"result":${result}}`
const unknown = (id: string | number) =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"unknown method"}}`
const missing = (id: string | number) =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":"The node returned no response to this request"}}`
const batch = (...items: string[]) => `[${items.join(',')}]`
const bodies = () => node.calls.map(({ body }) => body)
const ends = () => rpc.metering.records.map(({ end }) => (end?.kind === 'settled' ? end.chargedNanoUsd : end?.kind))

async function run(network: string, body: string) {
  const answer = await rpc.call(network, body)
  return { status: answer.status, credits: answer.credits, body: await bodyText(answer) }
}

test('a batch goes through byte for byte and costs the sum of its items', async () => {
  const body = ` [${item('"a"')}, ${item(2, 'debug_traceCall')} ,${item('18446744073709551615')}]`
  expect(await run('ethereum-mainnet', body)).toEqual({
    status: 200,
    credits: 20 + 5 + 20,
    body: batch(ok('"a"'), unknown(2), ok('18446744073709551615')),
  })
  expect(bodies()).toEqual([body])
  expect(rpc.metering.records[0]).toMatchObject({
    admission: { holdNanoUsd: 50_000n },
    end: {
      chargedNanoUsd: 28_125n,
      usage: {
        outcome: 'completed',
        lines: [
          { type: 'eth_chainId', units: 40 },
          { type: 'debug_traceCall', units: 5 },
        ],
      },
    },
    usedCredits: 45,
  })
})

test('one success beside one error item costs 25 credits', async () => {
  expect(await run('ethereum-mainnet', batch(item(1), item(2, 'eth_getLogs')))).toMatchObject({ credits: 25 })
})

test('items with extra members are rebuilt, the others stay as they were sent', async () => {
  await run('ethereum-mainnet', `[{"id": 1,"method":"eth_chainId","x":{}}, ${item(2)} ]`)
  expect(bodies()).toEqual([batch(item(1), item(2))])
})

describe('responses are put back under their requests', () => {
  test.each([
    ['reordered', { kind: 'reorder' }, 60, batch(ok(1), ok(2), ok(3))],
    ['one dropped', { kind: 'drop', position: 1 }, 45, batch(ok(1), missing(2), ok(3))],
    [
      'one error object for all, expanded under each id',
      { kind: 'single-error' },
      15,
      batch(
        ...[1, 2, 3].map(
          (id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":-32005,"message":"batches are limited"}}`,
        ),
      ),
    ],
    [
      'a 4xx with one error object',
      { kind: 'status', status: 413, body: '{"error":{"code":-1}}' },
      15,
      batch(...[1, 2, 3].map((id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":-1}}`)),
    ],
    [
      'one answer alone, by its id',
      { kind: 'status', status: 200, body: ok(2) },
      30,
      batch(missing(1), ok(2), missing(3)),
    ],
  ] as const)('%s', async (_, fault, credits, body) => {
    node.failNext(fault)
    expect(await run('ethereum-mainnet', batch(item(1), item(2), item(3)))).toEqual({ status: 200, credits, body })
  })

  test('rounded ids keep their responses, in the bytes that the node gave', async () => {
    node.failNext({ kind: 'round-ids' })
    const answer = await run('ethereum-mainnet', batch(item('9007199254740993'), item(1)))
    expect(answer).toEqual({ status: 200, credits: 40, body: batch(ok('9007199254740992'), ok(1)) })
  })
})

describe('notifications', () => {
  test('cost their tier and have no response in a batch', async () => {
    const answer = await run('ethereum-mainnet', batch(notification, item(1), notification))
    expect(answer).toEqual({ status: 200, credits: 60, body: batch(ok(1)) })
  })

  test('alone make a batch that gets 204', async () => {
    expect(await run('ethereum-mainnet', batch(notification, notification))).toEqual({
      status: 204,
      credits: 40,
      body: '',
    })
  })
})

describe('a node that takes fewer items', () => {
  test('gets several batches; the responses come back as one, in order', async () => {
    const answer = await run('base-mainnet', batch(...[1, 2, 3, 4, 5].map((id) => item(id))))
    expect(answer).toEqual({ status: 200, credits: 100, body: batch(...[1, 2, 3, 4, 5].map((id) => ok(id))) })
    expect(bodies().toSorted()).toEqual([batch(item(1), item(2)), batch(item(3), item(4)), batch(item(5))])
  })

  test('gets single requests when it takes no batches', async () => {
    const answer = await run('bsc-mainnet', batch(item(1), item(2, 'eth_getLogs'), notification))
    expect(answer).toEqual({ status: 200, credits: 45, body: batch(ok(1), unknown(2)) })
    expect(bodies().toSorted()).toEqual([item(1), item(2, 'eth_getLogs'), notification].toSorted())
  })

  test('gets the parts of a batch with a transaction one after the other', async () => {
    const gate = Promise.withResolvers<void>()
    node.failNext({ kind: 'gate', until: gate.promise })
    const answer = run('bsc-mainnet', batch(item(1, 'eth_sendRawTransaction'), item(2, 'eth_sendRawTransaction')))
    await expect.poll(() => bodies()).toEqual([item(1, 'eth_sendRawTransaction')])
    gate.resolve()
    expect((await answer).credits).toBe(40)
    expect(bodies()[1]).toBe(item(2, 'eth_sendRawTransaction'))
  })

  test('gets error items at 5 credits for the part on which it fails', async () => {
    node.failNext({ kind: 'html' })
    const answer = await run('base-mainnet', batch(item(1), item(2), item(3)))
    expect(answer.credits).toBe(30)
    expect(answer.body).toBe(batch(missing(1), missing(2), ok(3)))
  })
})

test.each([
  ['500', { kind: 'status', status: 500 }],
  ['HTML', { kind: 'html' }],
  ['truncated JSON', { kind: 'truncate' }],
  ['an empty array', { kind: 'status', status: 200, body: '[]' }],
  ['an array of no answers', { kind: 'status', status: 200, body: '[1,null,{"id":1}]' }],
  ['an empty body', { kind: 'empty' }],
] as const)('a batch without a response from any node (%s) costs nothing', async (_, fault) => {
  node.failNext(fault)
  await expect(run('ethereum-mainnet', batch(item(1), item(2)))).rejects.toMatchObject({ code: 'rpc_upstream_failed' })
  expect(ends()).toEqual(['released'])
})

test('100 items are one request to the node', async () => {
  const ids = Array.from({ length: 100 }, (_, index) => index)
  const answer = await run('ethereum-mainnet', batch(...ids.map((id) => item(id))))
  expect(answer).toEqual({ status: 200, credits: 2_000, body: batch(...ids.map((id) => ok(id))) })
  expect(node.calls).toHaveLength(1)
})
