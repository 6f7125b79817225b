import { expect, test } from 'vitest'
import { systemClock } from '../../../../server/domain/clock.ts'
import { NodeRouter } from '../../../../server/domain/rpc/node-router.ts'
import type { NodeAnswer, RpcNode } from '../../../../server/domain/rpc/rpc-node.ts'
import { createCircuitBreaker } from '../../../../server/upstream/inference/circuit-breaker.ts'
import { readText } from '../../../support/drain.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'

type Behaviour = number | 'refused' | 'garbage'

function fakeNode(id: string, behave: () => Behaviour, options: { batchItemsMax?: number } = {}) {
  const node = {
    id,
    batchItemsMax: options.batchItemsMax ?? 100,
    checkChain: true,
    calls: 0,
    async send(): Promise<NodeAnswer> {
      node.calls += 1
      const behaviour = behave()
      if (behaviour === 'refused') throw new Error('connect ECONNREFUSED node.secret.example:443')
      const text = behaviour === 'garbage' ? 'garbage' : id
      return {
        status: behaviour === 'garbage' ? 200 : behaviour,
        body: (async function* () {
          yield Buffer.from(text)
        })(),
        startStream: () => undefined,
      }
    },
    close: async () => undefined,
  }
  return node satisfies RpcNode
}

function routerOf(...nodes: RpcNode[]) {
  const log = createRecordingLog()
  const router = new NodeRouter({
    nodes: new Map([['net', nodes]]),
    createBreaker: createCircuitBreaker,
    clock: systemClock,
    log,
  })
  const send = ({ write = false, signal = new AbortController().signal } = {}) =>
    router.send({ network: 'net', body: Buffer.from('{}'), write, signal }, async ({ body }) => {
      const text = await readText(body)
      return text === 'garbage' ? undefined : text
    })
  return { router, send, log }
}

test.each(['refused', 'garbage', 429, 500, 503, 401, 402, 403] as const)(
  'a read whose first node ends in %s is served by the second',
  async (behaviour) => {
    const first = fakeNode('first', () => behaviour)
    const { send, log } = routerOf(
      first,
      fakeNode('second', () => 200),
    )
    expect(await send()).toEqual({ value: 'second', nodeId: 'second', retries: 1 })
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { nodeId: 'first' } }])
  },
)

test.each(['refused', 'garbage', 429, 500] as const)(
  'a write that ends in %s is never sent to another node',
  async (behaviour) => {
    const second = fakeNode('second', () => 200)
    const { send } = routerOf(
      fakeNode('first', () => behaviour),
      second,
    )
    await expect(send({ write: true })).rejects.toMatchObject({ code: 'rpc_upstream_failed' })
    expect(second.calls).toBe(0)
  },
)

test('a 4xx is a response to be read, not a reason to try another node', async () => {
  const second = fakeNode('second', () => 200)
  const { send } = routerOf(
    fakeNode('first', () => 400),
    second,
  )
  expect(await send()).toMatchObject({ nodeId: 'first', retries: 0 })
  expect(second.calls).toBe(0)
})

test('the message names the network but no node when every node fails', async () => {
  const { send } = routerOf(
    fakeNode('first', () => 'refused'),
    fakeNode('second', () => 500),
  )
  const error: unknown = await send().catch((thrown: unknown) => thrown)
  expect(String(error)).toContain('net')
  expect(String(error)).not.toMatch(/secret|first|second|ECONNREFUSED/)
})

test('a node is skipped after five failures in a row, for writes as well', async () => {
  const first = fakeNode('first', () => 500)
  const { send } = routerOf(
    first,
    fakeNode('second', () => 200),
  )
  for (let attempt = 0; attempt < 5; attempt += 1) await send()
  expect(await send({ write: true })).toEqual({ value: 'second', nodeId: 'second', retries: 0 })
  expect(first.calls).toBe(5)
})

test('an overloaded node stays in use, and so does the only node when its circuit is open', async () => {
  const limited = fakeNode('limited', () => 429)
  const { send } = routerOf(limited)
  for (let attempt = 0; attempt < 7; attempt += 1) await send().catch(() => undefined)
  expect(limited.calls).toBe(7)

  let behaviour: Behaviour = 500
  const only = fakeNode('only', () => behaviour)
  const alone = routerOf(only)
  for (let attempt = 0; attempt < 6; attempt += 1) await alone.send().catch(() => undefined)
  behaviour = 200
  expect(await alone.send()).toMatchObject({ nodeId: 'only' })
})

test('a caller that aborts ends the attempt, and no other node is called', async () => {
  const client = new AbortController()
  const second = fakeNode('second', () => 200)
  const first = fakeNode('first', () => {
    client.abort()
    return 'refused'
  })
  await expect(routerOf(first, second).send({ signal: client.signal })).rejects.toThrow()
  expect(second.calls).toBe(0)
})

test('a network takes batches as large as its most limited node does', () => {
  const nodes = [fakeNode('a', () => 200), fakeNode('b', () => 200, { batchItemsMax: 3 })]
  expect(routerOf(...nodes).router.batchItemsMax('net')).toBe(3)
})

test('a rejected node is not called until it is readmitted; without any other the network is unavailable', async () => {
  const first = fakeNode('first', () => 200)
  const { router, send } = routerOf(
    first,
    fakeNode('second', () => 200),
  )
  router.refuse('first')
  expect(await send()).toEqual({ value: 'second', nodeId: 'second', retries: 0 })
  router.refuse('second')
  await expect(send({ write: true })).rejects.toMatchObject({ code: 'unavailable' })
  expect(first.calls).toBe(0)
  expect([router.readmit('first'), router.readmit('first')]).toEqual([true, false])
  expect(await send()).toMatchObject({ nodeId: 'first' })
})
