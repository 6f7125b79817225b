import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../support/event-stream.ts'
import { codes, type GraphqlHarness, startGraphqlHarness } from '../support/graphql-harness.ts'

let harness: GraphqlHarness

beforeAll(async () => {
  harness = await startGraphqlHarness()
})
afterAll(() => harness.close())

describe('rpcNetworks', () => {
  it('are served to everybody', async () => {
    const answer = await harness.run('{ rpcNetworks { slug family chainId caip2 nativeSymbol baseCredits } }')
    expect(answer.data.rpcNetworks).toHaveLength(27)
    expect(answer.data.rpcNetworks).toContainEqual({
      slug: 'zksync-mainnet',
      family: 'EVM',
      chainId: '324',
      caip2: 'eip155:324',
      nativeSymbol: 'ETH',
      baseCredits: 30,
    })
  })

  it('list their methods with tier, credits and exact price, all networks in one operation', async () => {
    const answer = await harness.run('{ rpcNetworks { slug methods { name tier credits price priceNanoUsd } } }')
    const networks: Json[] = answer.data.rpcNetworks
    const methodsOf = (slug: string): Json[] => networks.find((network) => network.slug === slug).methods
    expect(['base-mainnet', 'starknet-sepolia', 'solana-devnet'].map((slug) => methodsOf(slug).length)).toEqual([
      156, 32, 52,
    ])
    expect(methodsOf('base-mainnet')).toContainEqual({
      name: 'debug_traceCall',
      tier: 'ADVANCED',
      credits: 40,
      price: '0.000025',
      priceNanoUsd: '25000',
    })
    expect(methodsOf('solana-mainnet')).toContainEqual({
      name: 'getSupply',
      tier: 'LARGE',
      credits: 120,
      price: '0.000075',
      priceNanoUsd: '75000',
    })
    expect(methodsOf('ethereum-mainnet').map(({ name }) => name)).not.toContain('eth_newFilter')
  })

  it('cannot be asked for all methods again and again in one operation', async () => {
    const answer = await harness.run('{ a: rpcNetworks { methods { name } } b: rpcNetworks { methods { name } } }')
    expect(codes(answer)).toEqual(['QUERY_TOO_COMPLEX'])
  })
})

describe('quote', () => {
  const QUOTE = `query ($network: String!, $body: String!) { quote(input: { rpc: { network: $network, body: $body } }) {
    price priceNanoUsd rpc { credits network { slug } calls { name tier credits price } }
  } }`
  const quote = (network: string, body: string) => harness.run(QUOTE, { variables: { network, body } })

  it('prices a body call by call, as it would be held', async () => {
    const answer = await quote(
      'zksync-mainnet',
      '[{"id":1,"method":"eth_chainId"},{"id":2,"method":"trace_replayTransaction","params":["0x0",["trace"]]}]',
    )
    expect(answer.data.quote).toEqual({
      price: '0.00009375',
      priceNanoUsd: '93750',
      rpc: {
        credits: 150,
        network: { slug: 'zksync-mainnet' },
        calls: [
          { name: 'eth_chainId', tier: 'STANDARD', credits: 30, price: '0.00001875' },
          { name: 'trace_replayTransaction', tier: 'LARGE', credits: 120, price: '0.000075' },
        ],
      },
    })
  })

  it.each([
    [
      'a refused method, naming it',
      'base-mainnet',
      '[{"id":1,"method":"eth_sign"},{"id":2,"method":"nope"}]',
      /"eth_sign".*"nope"/,
    ],
    ['an unknown network, listing the known', 'base', '{"method":"eth_chainId"}', /arbitrum-mainnet/],
    ['malformed JSON', 'base-mainnet', '{', /Invalid JSON/],
    ['101 items', 'base-mainnet', `[${'{"method":"eth_chainId"},'.repeat(101).slice(0, -1)}]`, /100 items/],
  ])('rejects %s', async (_, network, body, message) => {
    const answer = await quote(network, body)
    expect(codes(answer)).toEqual(['BAD_USER_INPUT'])
    expect(answer.errors[0]?.message).toMatch(message)
  })

  it('wants exactly one thing to quote', async () => {
    expect(codes(await harness.run('{ quote(input: {}) { price } }'))).toEqual(['GRAPHQL_VALIDATION_FAILED'])
  })
})
