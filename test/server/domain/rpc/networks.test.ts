import { expect, test } from 'vitest'
import { createNetworkTable } from '../../../../server/domain/rpc/networks.ts'
import { listPublicNodes } from '../../../../server/domain/rpc/public-nodes.ts'

test('27 networks; the unnamed EVM family carries the configured name', () => {
  const table = createNetworkTable('umbra')
  expect(table.size).toBe(27)
  expect(table.get('umbra-mainnet')).toMatchObject({
    chainId: '4663',
    caip2: 'eip155:4663',
    baseCredits: 20,
    family: 'evm',
  })
  expect(table.get('umbra-testnet')).toMatchObject({ chainId: '46630' })
  expect(table.has('robinhood-mainnet')).toBe(false)
})

test('a name that another family has is rejected', () => {
  expect(() => createNetworkTable('ethereum')).toThrow(/another family/)
})

test('zkSync and Solana cost 30 base credits, everything else 20', () => {
  const costly = [...createNetworkTable('robinhood').values()].filter((network) => network.baseCredits !== 20)
  expect(costly.map((network) => `${network.slug} ${network.baseCredits}`)).toEqual([
    'zksync-mainnet 30',
    'zksync-sepolia 30',
    'solana-mainnet 30',
    'solana-devnet 30',
  ])
})

test('identifiers follow CAIP-2', () => {
  const table = createNetworkTable('robinhood')
  expect(table.get('solana-mainnet')?.caip2).toBe('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp')
  expect(table.get('starknet-sepolia')?.caip2).toBe('starknet:SN_SEPOLIA')
  expect(table.get('base-mainnet')?.caip2).toBe('eip155:8453')
  expect(new Set([...table.values()].map((network) => network.caip2)).size).toBe(27)
})

test.each(['robinhood', 'umbra'])('every network of the family %s has its own public node, by HTTPS', (family) => {
  const slugs = [...createNetworkTable(family).keys()].toSorted()
  expect(Object.keys(listPublicNodes(family)).toSorted()).toEqual(slugs)
  const urls = Object.values(listPublicNodes(family)).flatMap(({ upstreams }) =>
    upstreams.map(({ url }) => new URL(url)),
  )
  expect(new Set(urls.map((url) => url.protocol))).toEqual(new Set(['https:']))
  expect(new Set(urls.map((url) => url.href)).size).toBe(27)
})
