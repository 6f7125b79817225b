import { expect, test } from 'vitest'
import { startRpcNode } from '../../support/rpc-node.ts'
import { say, startSdkHarness } from '../../support/sdk-harness.ts'

test('a service under another name is understood by a client that knows the name', async () => {
  await using node = await startRpcNode()
  const networks = { 'ethereum-mainnet': { upstreams: [{ url: `${node.url}ethereum-mainnet` }] } }
  await using harness = await startSdkHarness({ file: { service: { name: 'acme-cloud' }, rpc: { networks } } })
  const sluice = harness.connect({ serviceName: 'acme-cloud' })
  const chat = await sluice.chat.completions.create(say('Hello')).withResponse()
  expect(chat.response).toMatchObject({
    balances: { usd: '1' },
    model: { id: 'test-model' },
    serviceVersion: expect.any(String),
  })
  const rpc = await sluice.rpc.request('ethereum-mainnet', { method: 'eth_blockNumber' }).withResponse()
  expect(rpc.response).toMatchObject({ rpcCredits: 20, cost: { usd: '0.00001250' } })
})
