import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type RpcTestApp, startRpcApp } from '../../support/rpc-app.ts'
import type { NodeFault } from '../../support/rpc-node.ts'

/** Networks without a node that runs here, before a node of recorded answers. */
const NETWORKS = {
  'polygon-mainnet': { bor_getAuthor: 20, bor_getSignersAtHash: 20, trace_block: 40, eth_blockNumber: 20 },
  'arbitrum-mainnet': { arbtrace_call: 40, arbtrace_replayTransaction: 80, txpool_content: 80 },
  'linea-mainnet': { linea_estimateGas: 20, linea_getProof: 20, txpool_status: 40 },
  'zksync-mainnet': { zks_L1BatchNumber: 30, zks_getBridgeContracts: 30, trace_replayTransaction: 120 },
  'starknet-mainnet': { starknet_blockNumber: 20, starknet_getNonce: 20, starknet_addInvokeTransaction: 20 },
  'solana-mainnet': { getBalance: 30, sendTransaction: 30, getSupply: 120, getLargestAccounts: 120 },
}
const CALLS = Object.entries(NETWORKS).flatMap(([network, methods]) =>
  Object.entries(methods).map(([method, credits]) => ({ network, method, credits })),
)

let app: RpcTestApp
beforeAll(async () => {
  app = await startRpcApp({ networks: Object.keys(NETWORKS) })
})
afterAll(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})

const call = (method: string, id = '18446744073709551615') =>
  `{"id":${id},"jsonrpc":"2.0","method":"${method}","params":[ 115792089237316195423570985008687907853269984665640564039457584007913129639935, {"b":1,"a":"\\u00e9"} ]}`

async function direct(network: string, body: string): Promise<string> {
  return (await fetch(app.node.url + network, { method: 'POST', body })).text()
}

test.each(CALLS)(
  '$network: $method gives the same bytes as the node, for $credits credits',
  async ({ network, method, credits }) => {
    const expected = await direct(network, call(method))
    app.node.calls.length = 0
    const response = await app.post(network, call(method))
    expect([response.status, response.headers.get('x-service-rpc-credits')]).toEqual([200, String(credits)])
    expect(await response.text()).toBe(expected)
    expect(app.node.calls.map(({ body }) => body)).toEqual([call(method)])
    expect(expected).toContain('"result"')
  },
)

describe.each(Object.entries(NETWORKS))('a batch on %s', (network, methods) => {
  const names = [...Object.keys(methods), network.startsWith('solana') ? 'getSlot' : (Object.keys(methods)[0] ?? '')]
  const batch = `[ ${names.map((name, index) => call(name, `"${index}"`)).join(' ,\n')} ]`

  test('gives the same bytes as the node', async () => {
    const response = await app.post(network, batch)
    expect(await response.text()).toBe(await direct(network, batch))
  })

  test.each<NodeFault>([{ kind: 'reorder' }, { kind: 'drop', position: 0 }, { kind: 'single-error' }])(
    'has one response for each request, in order, after the fault $kind',
    async (fault) => {
      app.node.failNext(fault)
      const answers = (await (await app.post(network, batch)).json()) as { id: string }[]
      expect(answers.map(({ id }) => id)).toEqual(names.map((_, index) => String(index)))
    },
  )

  test.each<NodeFault>([{ kind: 'truncate' }, { kind: 'html' }, { kind: 'status', status: 429 }])(
    'costs nothing after the fault $kind',
    async (fault) => {
      const before = await app.server.balanceNanoUsd(app.account.accountId)
      app.node.failNext(fault)
      expect((await app.post(network, batch)).status).toBe(500)
      expect(await app.server.balanceNanoUsd(app.account.accountId)).toBe(before)
    },
  )
})

test('a slow node holds up nobody but its caller', async () => {
  const gate = Promise.withResolvers<void>()
  app.node.failNext({ kind: 'gate', until: gate.promise })
  app.node.calls.length = 0
  const slow = app.post('starknet-mainnet', call('starknet_getNonce'))
  await expect.poll(() => app.node.calls.length).toBe(1)
  expect((await app.post('starknet-mainnet', call('starknet_blockNumber'))).status).toBe(200)
  gate.resolve()
  expect((await slow).status).toBe(200)
})

test('an EVM method of another chain is forwarded, and the response is the business of the node', async () => {
  const known = app.node.results.get('zks_L1BatchNumber') ?? ''
  app.node.results.delete('zks_L1BatchNumber')
  onTestFinished(() => void app.node.results.set('zks_L1BatchNumber', known))
  const response = await app.post('polygon-mainnet', call('zks_L1BatchNumber', '1'))
  expect([response.status, response.headers.get('x-service-rpc-credits')]).toEqual([200, '5'])
  expect(await response.json()).toMatchObject({ id: 1, error: { code: -32601 } })
})
