import { createPublicClient, createTestClient, http, parseEther } from 'viem'
import { mainnet } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proxyRpcRoute } from '../../../rest-facade/rpc/proxy-rpc.ts'
import { type AnvilNode, startAnvil } from '../../support/anvil.ts'
import { keyCaller } from '../../support/callers.ts'
import { type RestHarness, startRestHarness } from '../../support/rest-harness.ts'
import { createRpcHarness } from '../../support/rpc-harness.ts'

const RICH = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

let anvil: AnvilNode
let rpc: ReturnType<typeof createRpcHarness>
let rest: RestHarness

beforeAll(async () => {
  anvil = await startAnvil({ chainId: 1 })
  rpc = createRpcHarness({ 'ethereum-mainnet': { upstreams: [{ url: anvil.url }] } })
  rest = await startRestHarness([proxyRpcRoute], { caller: keyCaller(), rpc: { proxy: rpc.service } })
  const direct = createTestClient({ mode: 'anvil', chain: mainnet, transport: http(anvil.url) })
  await direct.mine({ blocks: 3 })
})
afterAll(async () => {
  await rest[Symbol.asyncDispose]()
  await rpc[Symbol.asyncDispose]()
  await anvil.close()
})

const proxied = () => `${rest.baseUrl}/crypto/rpc/ethereum-mainnet`
const send = async (url: string, body: string) => {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer key' }
  const response = await fetch(url, { method: 'POST', body, headers })
  return { status: response.status, text: await response.text() }
}
const call = (method: string, params = '[]', id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`

describe('through the proxy a real node gives the same bytes as directly', () => {
  test.each([
    call('eth_blockNumber'),
    call('eth_chainId', '[]', '"a\\u0062c"'),
    call('eth_getBlockByNumber', '["0x2", true]', '9007199254740993'),
    call('eth_getBalance', `["${RICH}","latest"]`),
    call('eth_getBalance', '["not an address"]'),
    call('debug_getRawBlock', '["0x1"]'),
    call('eth_feeHistory', '["0x2","latest",[25]]'),
    '{"jsonrpc":"2.0","method":"eth_chainId"}',
    `[${call('eth_chainId', '[]', '1')},${call('eth_getLogs', '[{"fromBlock":"0x0"}]', '"x"')},${call('eth_call', '[]', '1')}]`,
    `[${Array.from({ length: 100 }, (_, id) => call('net_version', '[]', String(id))).join()}]`,
  ])('%s', async (body) => {
    expect(await send(proxied(), body)).toEqual(await send(anvil.url, body))
  })
})

describe('viem', () => {
  const fetchOptions = { headers: { authorization: 'Bearer key' } }

  test('reads blocks, balances and batches through the proxy', async () => {
    const transport = http(proxied(), { fetchOptions, batch: { batchSize: 100 } })
    const client = createPublicClient({ chain: mainnet, transport })
    const [block, balance, chainId] = await Promise.all([
      client.getBlockNumber(),
      client.getBalance({ address: RICH }),
      client.getChainId(),
    ])
    expect([block, balance, chainId]).toEqual([3n, parseEther('10000'), 1])
  })

  test('falls back to eth_getLogs when filters are rejected', async () => {
    const client = createPublicClient({ chain: mainnet, transport: http(proxied(), { fetchOptions, retryCount: 0 }) })
    const error: unknown = await client.createBlockFilter().catch((thrown: unknown) => thrown)
    expect(String(error)).toContain('eth_getLogs')
    expect(await client.getLogs({ fromBlock: 0n })).toEqual([])
  })
})
