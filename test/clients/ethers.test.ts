import { FetchRequest, JsonRpcProvider, Network, parseEther, Wallet } from 'ethers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AnvilApp, LOGGER_BYTECODE, RICH_KEY, startAnvilApp } from '../support/anvil-app.ts'

const STRANGER = '0x000000000000000000000000000000000000bEEF'
const MAINNET = Network.from(1)

let app: AnvilApp
const providers: JsonRpcProvider[] = []
beforeAll(async () => {
  app = await startAnvilApp()
})
afterAll(async () => {
  for (const provider of providers) provider.destroy()
  await app[Symbol.asyncDispose]()
})

/** As docs/rpc.md tells: the key in a header, and `polling: true`, since filters are not served. */
function createProvider({ key, ...options }: { batchMaxCount?: number; key?: string } = {}): JsonRpcProvider {
  const connection = new FetchRequest(app.url)
  connection.setHeader('authorization', `Bearer ${key ?? app.account.adminKey}`)
  const provider = new JsonRpcProvider(connection, MAINNET, { staticNetwork: MAINNET, polling: true, ...options })
  provider.pollingInterval = 50
  providers.push(provider)
  return provider
}

test('a transfer is signed here, sent, and its receipt polled for', async () => {
  const provider = createProvider()
  const sent = await new Wallet(RICH_KEY, provider).sendTransaction({ to: STRANGER, value: parseEther('2') })
  expect((await sent.wait())?.status).toBe(1)
  expect(await provider.getBalance(STRANGER)).toBe(parseEther('2'))
})

test('logs of a contract are read, and listened to with polling: true', async () => {
  const provider = createProvider()
  const wallet = new Wallet(RICH_KEY, provider)
  const deployed = await (await wallet.sendTransaction({ data: LOGGER_BYTECODE })).wait()
  const address = deployed?.contractAddress ?? STRANGER
  let heard: string | undefined
  void provider.on({ address }, (log: { address: string }) => {
    heard = log.address
  })
  // A listener begins at the block that it sees first, so it is certain to hear of one of several.
  const listened = expect.poll(async () => {
    await (await wallet.sendTransaction({ to: address })).wait()
    return heard
  })
  await listened.toBe(address)
  expect((await provider.getLogs({ address, fromBlock: 0 })).length).toBeGreaterThan(0)
})

describe('batches', () => {
  /** Another account, since providers of other tests go on polling. */
  async function createCustomer() {
    const { accountId, adminKey } = await app.server.createAccount({ grantNanoUsd: 1_000_000_000n })
    const credits = async () => Number((1_000_000_000n - (await app.server.balanceNanoUsd(accountId))) / 625n)
    return { key: adminKey, credits }
  }

  test('250 calls go out in batches of the default size, which is 100', async () => {
    const { key, credits } = await createCustomer()
    const provider = createProvider({ key })
    const counts = await Promise.all(Array.from({ length: 250 }, () => provider.send('eth_chainId', [])))
    expect(new Set(counts)).toEqual(new Set(['0x1']))
    expect(await credits()).toBe(5_000)
  })

  test('101 calls in one request are rejected and cost nothing', async () => {
    const { key, credits } = await createCustomer()
    const provider = createProvider({ key, batchMaxCount: 101 })
    const results = await Promise.allSettled(Array.from({ length: 101 }, () => provider.send('eth_chainId', [])))
    expect(results.every(({ status }) => status === 'rejected')).toBe(true)
    expect(String(results[0]?.status === 'rejected' && results[0].reason)).toContain('400')
    expect(await credits()).toBe(0)
  })
})

test('filter methods and keys in the node are rejected with an alternative', async () => {
  const provider = createProvider()
  await expect(provider.send('eth_newFilter', [{}])).rejects.toThrow(/eth_getLogs/)
  await expect(provider.send('eth_accounts', [])).rejects.toThrow(/sign locally/)
})

test('an unknown key is one failed request, not a storm of retries', async () => {
  await expect(createProvider({ key: 'nobody' }).getBlockNumber()).rejects.toThrow(/401/)
})
