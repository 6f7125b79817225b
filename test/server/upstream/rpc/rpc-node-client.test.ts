import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { RpcNode } from '../../../../server/domain/rpc/rpc-node.ts'
import { createRpcNode, createRpcNodes, type RpcNodeOptions } from '../../../../server/upstream/rpc/rpc-node-client.ts'
import { readText } from '../../../support/drain.ts'
import { type RpcNodeServer, startRpcNode } from '../../../support/rpc-node.ts'

const BODY = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}')

let server: RpcNodeServer
const open: RpcNode[] = []

beforeAll(async () => {
  server = await startRpcNode()
})
afterAll(() => server.close())
beforeEach(() => {
  server.calls.length = 0
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((node) => node.close()))
})

function nodeOf(options: Partial<RpcNodeOptions> = {}): RpcNode {
  const node = createRpcNode({ id: 'net#1', url: server.url, ...options })
  open.push(node)
  return node
}

test('keys in user, path, query and headers reach the node', async () => {
  const url = `${server.url.replace('//', '//user:p%40ss@')}v2/key?token=t`
  const answer = await nodeOf({ url, headers: { 'x-node-key': 'k' } }).send(BODY, new AbortController().signal)
  expect([answer.status, await readText(answer.body)]).toEqual([200, '{"jsonrpc":"2.0","id":1,"result":"0x1"}'])
  expect(server.calls[0]).toMatchObject({
    path: '/v2/key?token=t',
    body: BODY.toString(),
    headers: {
      authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
      'x-node-key': 'k',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
    },
  })
})

test('a redirect is a response, not a journey', async () => {
  server.failNext({ kind: 'status', status: 307 })
  const answer = await nodeOf().send(BODY, new AbortController().signal)
  expect([answer.status, server.calls.length]).toEqual([307, 1])
  await readText(answer.body)
})

test('a node that does not respond in time is abandoned', async () => {
  const gate = Promise.withResolvers<void>()
  server.failNext({ kind: 'gate', until: gate.promise })
  // Its time passes only when the node has the call, however long that takes.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const refusal = expect(nodeOf({ timeoutSeconds: 0.5 }).send(BODY, new AbortController().signal)).rejects.toThrow()
  while (server.calls.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await vi.advanceTimersByTimeAsync(500)
  await refusal
  vi.useRealTimers()
  await expect.poll(() => server.calls[0]?.aborted).toBe(true)
  gate.resolve()
})

test('a client that disconnects ends the exchange', async () => {
  const gate = Promise.withResolvers<void>()
  const client = new AbortController()
  server.failNext({ kind: 'gate', until: gate.promise })
  const answer = nodeOf().send(BODY, client.signal)
  await expect.poll(() => server.calls.length).toBe(1)
  client.abort()
  await expect(answer).rejects.toThrow()
  await expect.poll(() => server.calls[0]?.aborted).toBe(true)
  gate.resolve()
})

test('configured nodes are numbered in order and take 100 items a batch by default', () => {
  const nodes = createRpcNodes({ net: { upstreams: [{ url: server.url }, { url: server.url, maxBatch: 7 }] } })
  const list = nodes.get('net') ?? []
  open.push(...list)
  expect(list.map(({ id, batchItemsMax }) => [id, batchItemsMax])).toEqual([
    ['net#1', 100],
    ['net#2', 7],
  ])
})
