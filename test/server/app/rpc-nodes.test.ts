import { expect, test } from 'vitest'
import { startTestApp } from '../../support/app.ts'
import { createRecordingLog } from '../../support/recording-log.ts'
import { startRpcNode } from '../../support/rpc-node.ts'

const CHAIN_ID = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'

test('a node of another chain is out of service after the start, and the next one of its network serves', async () => {
  await using wrong = await startRpcNode()
  await using right = await startRpcNode()
  wrong.results.set('eth_chainId', '"0x5"')
  const log = createRecordingLog()
  await using server = await startTestApp({
    file: { rpc: { networks: { 'ethereum-mainnet': { upstreams: [{ url: wrong.url }, { url: right.url }] } } } },
    overrides: { log },
  })
  await expect.poll(() => log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
  const { adminKey } = await server.createAccount()
  const response = await fetch(`${server.baseUrl}/crypto/rpc/ethereum-mainnet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
    body: CHAIN_ID,
  })
  expect(await response.json()).toMatchObject({ result: '0x1' })
  // Its own check of the second node may end after the call.
  await expect.poll(() => [wrong.calls.length, right.calls.length]).toEqual([1, 2])
})

test('a network without a node is not listed and not served; with public nodes all 27 are', async () => {
  await using node = await startRpcNode()
  await using server = await startTestApp({
    file: { rpc: { publicNodes: false, networks: { 'base-mainnet': { upstreams: [{ url: node.url }] } } } },
  })
  expect(server.app.services.rpc.proxy.networks().map(({ slug }) => slug)).toEqual(['base-mainnet'])
  await using open = await startTestApp({ file: { rpc: { publicNodes: true } } })
  expect(open.app.services.rpc.proxy.networks()).toHaveLength(27)
})

test('a development node with a chain of its own serves where the operator says so', async () => {
  await using node = await startRpcNode()
  node.results.set('eth_chainId', '"0x7a69"')
  await using server = await startTestApp({
    file: { rpc: { networks: { 'ethereum-mainnet': { upstreams: [{ url: node.url, checkChain: false }] } } } },
  })
  expect(await server.app.services.rpc.nodes.inspect()).toEqual([])
  const { adminKey } = await server.createAccount()
  const response = await fetch(`${server.baseUrl}/crypto/rpc/ethereum-mainnet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
    body: CHAIN_ID,
  })
  expect(await response.json()).toMatchObject({ result: '0x7a69' })
})
