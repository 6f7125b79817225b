import { afterEach, beforeEach, expect, test } from 'vitest'
import { createNetworkTable } from '../../../../server/domain/rpc/networks.ts'
import { NodeInspector } from '../../../../server/domain/rpc/node-inspector.ts'
import { createRpcNodes } from '../../../../server/upstream/rpc/rpc-node-client.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'
import { type RpcNodeServer, startRpcNode } from '../../../support/rpc-node.ts'

const NOBODY = 'http://127.0.0.1:1/'

let node: RpcNodeServer
beforeEach(async () => {
  node = await startRpcNode()
})
afterEach(() => node.close())

function inspectorOf(networks: Record<string, string>, configured = Object.keys(networks)) {
  const log = createRecordingLog()
  const refused: string[] = []
  const inspector = new NodeInspector({
    networks: createNetworkTable('robinhood'),
    nodes: createRpcNodes(
      Object.fromEntries(Object.entries(networks).map(([slug, url]) => [slug, { upstreams: [{ url }] }])),
    ),
    configured: new Set(configured),
    router: {
      refuse: (nodeId) => void refused.push(nodeId),
      readmit: (nodeId) => refused.splice(0).includes(nodeId),
    },
    log,
  })
  return { inspector, log, refused }
}

test.each([
  ['ethereum-mainnet', 'eth_chainId', '"0x1"'],
  ['base-mainnet', 'eth_chainId', '"0x2105"'],
  ['robinhood-testnet', 'eth_chainId', '"0xB626"'],
  ['starknet-mainnet', 'starknet_chainId', '"0x534e5f4d41494e"'],
  ['solana-devnet', 'getGenesisHash', '"EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"'],
])('a node of %s matches by its %s', async (slug, method, result) => {
  node.results.set(method, result)
  const { inspector, refused } = inspectorOf({ [slug]: node.url })
  expect(await inspector.inspect()).toMatchObject([{ nodeId: `${slug}#1`, network: slug, status: 'matches' }])
  expect([node.calls.length, refused]).toEqual([1, []])
})

test.each([
  ['base-mainnet', 'eth_chainId', '"0x1"', '1', '8453'],
  ['starknet-mainnet', 'starknet_chainId', '"0x534e5f5345504f4c4941"', 'SN_SEPOLIA', 'SN_MAIN'],
  ['solana-mainnet', 'getGenesisHash', '"EtWT"', 'EtWT', '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'],
])('a node of another chain than %s is rejected with both ids', async (slug, method, result, found, expected) => {
  node.results.set(method, result)
  const { inspector, refused, log } = inspectorOf({ [slug]: node.url })
  const [report] = await inspector.inspect()
  expect(report).toMatchObject({ status: 'mismatch', found, expected })
  expect(report?.detail).toContain(`returned ${found}, but ${slug} is ${expected}`)
  expect(refused).toEqual([`${slug}#1`])
  expect(log.lines).toMatchObject([{ level: 'error', message: 'rpc node serves another chain and is not used' }])
})

test.each([
  ['an error', { kind: 'status', status: 200, body: '{"error":{"code":1}}' }],
  ['HTML', { kind: 'html' }],
  ['503', { kind: 'status', status: 503 }],
  ['a number', { kind: 'status', status: 200, body: '{"result":1}' }],
  ['no hex', { kind: 'status', status: 200, body: '{"result":"0x"}' }],
  ['an answer without end', { kind: 'huge', bytes: 100_000_000 }],
  ['a hang-up', { kind: 'hang-up' }],
] as const)('a node that returns %s stays in use and is reported', async (_, fault) => {
  node.failNext(fault)
  const { inspector, refused } = inspectorOf({ 'ethereum-mainnet': node.url })
  expect(await inspector.inspect()).toMatchObject([{ status: 'unreachable', found: null }])
  expect(refused).toEqual([])
})

test('a node that cannot be reached is named with the reason, and without its address', async () => {
  const { inspector } = inspectorOf({ 'ethereum-mainnet': NOBODY })
  const [report] = await inspector.inspect()
  expect(report?.detail).toBe('did not respond to eth_chainId (ECONNREFUSED)')
})

test('public nodes are called only on demand', async () => {
  const { inspector } = inspectorOf({ 'ethereum-mainnet': node.url, 'base-mainnet': node.url }, ['ethereum-mainnet'])
  expect(await inspector.inspect()).toHaveLength(1)
  expect((await inspector.inspect({ publicNodes: true })).map(({ origin }) => origin)).toEqual(['configured', 'public'])
})

test('a rejected node that serves its chain at the next check is used again', async () => {
  const { inspector, log, refused } = inspectorOf({ 'base-mainnet': node.url })
  await inspector.inspect()
  node.results.set('eth_chainId', '"0x2105"')
  await inspector.inspect()
  expect([refused, log.lines.map(({ level }) => level)]).toEqual([[], ['error', 'info']])
})

test('the check at the start warns of silent nodes and rejects those of another chain', async () => {
  const { inspector, log, refused } = inspectorOf({ 'base-mainnet': node.url, 'ethereum-mainnet': NOBODY })
  inspector.start()
  await expect.poll(() => log.lines.map(({ level }) => level).toSorted()).toEqual(['error', 'warn'])
  expect(refused).toEqual(['base-mainnet#1'])
  inspector.stop()
})
