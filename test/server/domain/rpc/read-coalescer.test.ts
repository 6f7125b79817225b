import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ReadCoalescer } from '../../../../server/domain/rpc/read-coalescer.ts'
import { NodeSender } from '../../../../server/domain/rpc/single-sender.ts'
import { bodyText, createRpcHarness } from '../../../support/rpc-harness.ts'
import { type RpcNodeServer, startRpcNode } from '../../../support/rpc-node.ts'

let node: RpcNodeServer
let rpc: ReturnType<typeof createRpcHarness>
let gate: PromiseWithResolvers<void>

beforeAll(async () => {
  node = await startRpcNode()
})
afterAll(() => node.close())
beforeEach(() => {
  node.calls.length = 0
  gate = Promise.withResolvers()
  const upstreams = [{ url: node.url }]
  rpc = createRpcHarness(
    { 'ethereum-mainnet': { upstreams }, 'base-mainnet': { upstreams } },
    { createSender: ({ router }) => new ReadCoalescer(new NodeSender(router)) },
  )
})
afterEach(() => rpc[Symbol.asyncDispose]())

const call = (id: string, method = 'eth_chainId', params = '[]') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
const hold = () => node.failNext({ kind: 'gate', until: gate.promise })
const ends = () => rpc.metering.records.map(({ end }) => (end?.kind === 'settled' ? end.chargedNanoUsd : end?.kind))

test('identical reads under way share one call; each gets its own id and pays the full price', async () => {
  hold()
  const ids = ['1', '18446744073709551615', '"a\\u0062"', '1']
  const answers = ids.map((id) => rpc.call('ethereum-mainnet', call(id)))
  await expect.poll(() => node.calls.length).toBe(1)
  gate.resolve()
  const bodies = await Promise.all(answers.map(async (answer) => bodyText(await answer)))
  expect(bodies).toEqual(ids.map((id) => `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`))
  expect(node.calls).toHaveLength(1)
  expect(ends()).toEqual([12_500n, 12_500n, 12_500n, 12_500n])
})

test('an error is shared as well, at 5 credits each', async () => {
  hold()
  const answers = ['1', '2'].map((id) => rpc.call('ethereum-mainnet', call(id, 'eth_getLogs')))
  await expect.poll(() => node.calls.length).toBe(1)
  gate.resolve()
  expect((await Promise.all(answers)).map(({ credits }) => credits)).toEqual([5, 5])
})

test.each([
  ['other parameters', 'ethereum-mainnet', call('2', 'eth_chainId', '[1]')],
  ['another method', 'ethereum-mainnet', call('2', 'net_version')],
  ['another network', 'base-mainnet', call('2')],
  ['a notification', 'ethereum-mainnet', '{"jsonrpc":"2.0","method":"eth_chainId","params":[]}'],
])('%s get a call of their own', async (_, network, body) => {
  hold()
  const first = rpc.call('ethereum-mainnet', call('1'))
  await expect.poll(() => node.calls.length).toBe(1)
  await rpc.call(network, body)
  gate.resolve()
  await first
  expect(node.calls).toHaveLength(2)
})

test('transactions are never shared', async () => {
  hold()
  const answers = ['1', '1'].map((id) => rpc.call('ethereum-mainnet', call(id, 'eth_sendRawTransaction', '["0x1"]')))
  await expect.poll(() => node.calls.length).toBe(2)
  gate.resolve()
  await Promise.all(answers)
})

test('a read after the response calls the node again', async () => {
  await rpc.call('ethereum-mainnet', call('1'))
  await rpc.call('ethereum-mainnet', call('1'))
  expect(node.calls).toHaveLength(2)
})

test('the first caller that leaves takes nothing from the others and pays nothing', async () => {
  hold()
  const client = new AbortController()
  const first = rpc.call('ethereum-mainnet', call('1'), client.signal)
  const second = rpc.call('ethereum-mainnet', call('2'))
  await expect.poll(() => node.calls.length).toBe(1)
  client.abort()
  await expect(first).rejects.toThrow()
  gate.resolve()
  expect(await bodyText(await second)).toBe('{"jsonrpc":"2.0","id":2,"result":"0x1"}')
  expect([node.calls.length, ends()]).toEqual([1, ['released', 12_500n]])
})

test('the node call is cancelled when all callers have left, and a later read starts anew', async () => {
  hold()
  const client = new AbortController()
  const answers = ['1', '2'].map((id) => rpc.call('ethereum-mainnet', call(id), client.signal))
  await expect.poll(() => node.calls.length).toBe(1)
  client.abort()
  await Promise.all(answers.map((answer) => expect(answer).rejects.toThrow()))
  expect(await bodyText(await rpc.call('ethereum-mainnet', call('3')))).toContain('"id":3')
  await expect.poll(() => node.calls[0]?.aborted).toBe(true)
  gate.resolve()
})

test('all callers fail and nobody pays when the node fails', async () => {
  node.failNext({ kind: 'html' })
  const answers = ['1', '2'].map((id) => rpc.call('ethereum-mainnet', call(id)))
  await Promise.all(answers.map((answer) => expect(answer).rejects.toMatchObject({ code: 'rpc_upstream_failed' })))
  expect([node.calls.length, ends()]).toEqual([1, ['released', 'released']])
})

test('a response too large to keep streams to one of them, and the others ask for themselves', async () => {
  node.results.set('eth_getLogs', `"${'a'.repeat(1_000_000)}"`)
  hold()
  const answers = ['1', '22'].map((id) => rpc.call('ethereum-mainnet', call(id, 'eth_getLogs')))
  await expect.poll(() => node.calls.length).toBe(1)
  gate.resolve()
  const sizes = await Promise.all(answers.map(async (answer) => (await bodyText(await answer)).length))
  expect(sizes).toEqual([1_000_036, 1_000_037])
  expect([node.calls.length, ends()]).toEqual([2, [12_500n, 12_500n]])
  node.results.delete('eth_getLogs')
})

test('the receiver of a large stream can still leave, and the node call is cancelled', async () => {
  const client = new AbortController()
  node.failNext({ kind: 'huge', bytes: 50_000_000 })
  const { body } = await rpc.call('ethereum-mainnet', call('1'), client.signal)
  client.abort()
  await expect(bodyText({ body } as Awaited<ReturnType<typeof rpc.call>>)).rejects.toThrow()
  await expect.poll(() => node.calls[0]?.aborted).toBe(true)
})
