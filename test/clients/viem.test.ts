import { createPublicClient, createWalletClient, http, parseEther } from 'viem'
import { createBundlerClient } from 'viem/account-abstraction'
import { privateKeyToAccount } from 'viem/accounts'
import { mainnet } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AnvilApp, LOGGER_BYTECODE, RICH_KEY, startAnvilApp } from '../support/anvil-app.ts'
import { startRpcApp } from '../support/rpc-app.ts'

const STRANGER = '0x000000000000000000000000000000000000dEaD'

let app: AnvilApp
beforeAll(async () => {
  app = await startAnvilApp()
})
afterAll(() => app[Symbol.asyncDispose]())

let requests = 0

/** As docs/rpc.md tells: the key in a header, batches of at most 100. */
const transport = (batchSize?: number) =>
  http(app.url, {
    fetchOptions: { headers: { authorization: `Bearer ${app.account.adminKey}` } },
    ...(batchSize === undefined ? {} : { batch: { batchSize } }),
    retryCount: 0,
    onFetchRequest: () => {
      requests += 1
    },
  })
const reader = (batchSize?: number) =>
  createPublicClient({ chain: mainnet, transport: transport(batchSize), pollingInterval: 50 })
const writer = () =>
  createWalletClient({ chain: mainnet, transport: transport(), account: privateKeyToAccount(RICH_KEY) })

test('a transfer is signed here, sent, and its receipt polled for', async () => {
  const before = await reader().getBalance({ address: STRANGER })
  const hash = await writer().sendTransaction({ to: STRANGER, value: parseEther('1.5') })
  const receipt = await reader().waitForTransactionReceipt({ hash })
  expect(receipt.status).toBe('success')
  expect((await reader().getBalance({ address: STRANGER })) - before).toBe(parseEther('1.5'))
})

test('one call costs 20 credits', async () => {
  const before = await app.credits()
  expect(await reader().getChainId()).toBe(1)
  expect((await app.credits()) - before).toBe(20)
})

describe('batches', () => {
  test('100 calls are one request', async () => {
    const before = await app.credits()
    requests = 0
    const client = reader(100)
    const counts = Array.from({ length: 100 }, () => client.getTransactionCount({ address: STRANGER }))
    expect(new Set(await Promise.all(counts))).toEqual(new Set([0]))
    expect([requests, (await app.credits()) - before]).toEqual([1, 2_000])
  })

  test('101 calls in one request are rejected, and in batches of 100 they pass', async () => {
    const before = await app.credits()
    const client = reader(1_000)
    const calls = Array.from({ length: 101 }, () => client.getTransactionCount({ address: STRANGER }))
    const [first] = await Promise.allSettled(calls)
    expect(String(first?.status === 'rejected' && first.reason)).toContain('more than 100 items')
    expect(await app.credits()).toBe(before)
    const split = reader(100)
    const counts = Array.from({ length: 101 }, () => split.getTransactionCount({ address: STRANGER }))
    expect(await Promise.all(counts)).toHaveLength(101)
  })
})

test('a rejected filter is an error that names the alternative', async () => {
  await expect(reader().createBlockFilter()).rejects.toThrow(/eth_getLogs/)
})

test('a bundler client works against the same URL', async () => {
  await using recorded = await startRpcApp()
  recorded.node.results.set('eth_supportedEntryPoints', '["0x0000000071727De22E5E9d8BAf0edAc6f37da032"]')
  recorded.node.results.set('eth_getUserOperationByHash', 'null')
  const client = createBundlerClient({
    chain: mainnet,
    transport: http(`${recorded.server.baseUrl}/crypto/rpc/ethereum-mainnet`, {
      fetchOptions: { headers: { authorization: `Bearer ${recorded.account.adminKey}` } },
    }),
  })
  expect(await client.getSupportedEntryPoints()).toEqual(['0x0000000071727De22E5E9d8BAf0edAc6f37da032'])
  await expect(client.getUserOperation({ hash: `0x${'ab'.repeat(32)}` })).rejects.toThrow(/could not be found/)
})

// Last, since a watch that stops may leave a call under way, which others would find among their charges.
test('logs of a contract are read, and watched without filters', async () => {
  const deployed = await reader().waitForTransactionReceipt({
    hash: await writer().deployContract({ abi: [], bytecode: LOGGER_BYTECODE }),
  })
  const address = deployed.contractAddress ?? STRANGER
  let logs = 0
  const stop = reader().watchEvent({ address, onLogs: (found) => (logs += found.length) })
  // A watch begins at the block that it sees first, so it is certain to tell of one of several.
  const watched = expect.poll(async () => {
    await reader().waitForTransactionReceipt({ hash: await writer().sendTransaction({ to: address }) })
    return logs
  })
  await watched.toBeGreaterThan(0)
  stop()
  expect((await reader().getLogs({ address, fromBlock: 0n })).length).toBeGreaterThan(0)
})
