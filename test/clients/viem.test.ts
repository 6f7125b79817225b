import { createPublicClient, http } from 'viem'
import { mainnet } from 'viem/chains'
import { expect, test } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { startAnvil } from '../support/anvil.ts'

test('viem reads a block number through the proxy, and the call costs 20 credits', async () => {
  await using anvil = await startAnvil({ chainId: 1 })
  await using server = await startTestApp({
    file: { rpc: { networks: { 'ethereum-mainnet': { upstreams: [{ url: anvil.url }] } } } },
  })
  const { accountId, adminKey } = await server.createAccount()
  const client = createPublicClient({
    chain: mainnet,
    transport: http(`${server.baseUrl}/crypto/rpc/ethereum-mainnet`, {
      fetchOptions: { headers: { authorization: `Bearer ${adminKey}` } },
    }),
  })
  const before = await server.balanceNanoUsd(accountId)
  expect(await client.getBlockNumber()).toBe(0n)
  expect(before - (await server.balanceNanoUsd(accountId))).toBe(20n * 625n)
  expect(await client.getChainId()).toBe(1)
  await server.assertLedgerClean()
})
