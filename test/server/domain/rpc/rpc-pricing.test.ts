import { expect, test } from 'vitest'
import { MethodTable } from '../../../../server/domain/rpc/method-table.ts'
import { createNetworkTable } from '../../../../server/domain/rpc/networks.ts'
import { costUsdOf, creditsOf, defaultTier } from '../../../../server/domain/rpc/rpc-pricing.ts'

const methods = new MethodTable()
const networks = createNetworkTable('robinhood')

function priceOf(slug: string, name: string): number {
  const network = networks.get(slug)!
  const { method } = methods.find(network.family, name)
  return creditsOf(network.baseCredits, method!.tier)
}

test.each([
  ['ethereum-mainnet', 'eth_call', 20],
  ['ethereum-mainnet', 'debug_traceTransaction', 40],
  ['ethereum-mainnet', 'trace_block', 40],
  ['ethereum-mainnet', 'txpool_inspect', 40],
  ['ethereum-mainnet', 'txpool_content', 80],
  ['ethereum-mainnet', 'trace_replayTransaction', 80],
  ['arbitrum-mainnet', 'arbtrace_call', 40],
  ['arbitrum-mainnet', 'arbtrace_replayBlockTransactions', 80],
  ['base-mainnet', 'eth_sendUserOperation', 20],
  ['zksync-mainnet', 'eth_blockNumber', 30],
  ['zksync-mainnet', 'trace_replayBlockTransactions', 120],
  ['starknet-mainnet', 'starknet_call', 20],
  ['solana-mainnet', 'getBalance', 30],
  ['solana-devnet', 'getSupply', 120],
  ['robinhood-testnet', 'eth_chainId', 20],
])('%s %s costs %i credits', (slug, name, credits) => {
  expect(priceOf(slug, name)).toBe(credits)
})

test.each([
  [20, '0.00001250'],
  [40, '0.00002500'],
  [80, '0.00005000'],
  [30, '0.00001875'],
  [120, '0.00007500'],
  [5, '0.00000313'],
  [25, '0.00001563'],
  [0, '0.00000000'],
  [12_000, '0.00750000'],
])('%i credits print as %s USD', (credits, text) => {
  expect(costUsdOf(credits, 625n)).toBe(text)
})

test('every multiple of 5 up to 20,000 credits prints as exact arithmetic rounds it, half up', () => {
  for (let credits = 0; credits <= 20_000; credits += 5) {
    // One credit is 62.5 units of 1e-8 USD.
    const units = (BigInt(credits) * 625n + 5n) / 10n
    const digits = units.toString().padStart(9, '0')
    expect(costUsdOf(credits, 625n)).toBe(`${digits.slice(0, -8)}.${digits.slice(-8)}`)
  }
})

test('the table prices every served method by the default rule except those that the specification makes large', () => {
  const deviating = (['evm', 'starknet', 'solana'] as const)
    .flatMap((family) => methods.list(family))
    .filter((method) => method.tier !== defaultTier(method.name))
  expect(deviating.map((method) => `${method.name} ${method.tier}`).toSorted()).toEqual([
    'arbtrace_replayBlockTransactions large',
    'arbtrace_replayTransaction large',
    'getLargestAccounts large',
    'getSupply large',
    'trace_replayBlockTransactions large',
    'trace_replayTransaction large',
    'txpool_content large',
  ])
})
