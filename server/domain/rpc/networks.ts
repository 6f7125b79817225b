/** Chains that share one method list. */
export const RPC_FAMILIES = ['evm', 'starknet', 'solana'] as const
export type RpcFamily = (typeof RPC_FAMILIES)[number]

export interface RpcNetwork {
  slug: string
  family: RpcFamily
  /** As reported by a node: `eth_chainId` in decimal, `starknet_chainId` as text, or the genesis hash. */
  chainId: string
  caip2: string
  nativeSymbol: string
  baseCredits: number
}

const STANDARD_BASE_CREDITS = 20
/** zkSync Era and Solana. */
const COSTLY_BASE_CREDITS = 30

const evm = (slug: string, chainId: number, nativeSymbol = 'ETH'): RpcNetwork => ({
  slug,
  family: 'evm',
  chainId: String(chainId),
  caip2: `eip155:${chainId}`,
  nativeSymbol,
  baseCredits: slug.startsWith('zksync-') ? COSTLY_BASE_CREDITS : STANDARD_BASE_CREDITS,
})

const starknet = (slug: string, chainId: string): RpcNetwork => ({
  slug,
  family: 'starknet',
  chainId,
  caip2: `starknet:${chainId}`,
  nativeSymbol: 'STRK',
  baseCredits: STANDARD_BASE_CREDITS,
})

/** CAIP-2 uses the first 32 characters of the genesis hash. */
const solana = (slug: string, genesisHash: string): RpcNetwork => ({
  slug,
  family: 'solana',
  chainId: genesisHash,
  caip2: `solana:${genesisHash.slice(0, 32)}`,
  nativeSymbol: 'SOL',
  baseCredits: COSTLY_BASE_CREDITS,
})

/** Ids from viem's chain definitions and the CAIP-2 namespaces of Solana and Starknet. */
const NAMED_NETWORKS: readonly RpcNetwork[] = [
  evm('ethereum-mainnet', 1),
  evm('ethereum-sepolia', 11155111),
  evm('ethereum-holesky', 17000),
  evm('polygon-mainnet', 137, 'POL'),
  evm('polygon-amoy', 80002, 'POL'),
  evm('arbitrum-mainnet', 42161),
  evm('arbitrum-sepolia', 421614),
  evm('optimism-mainnet', 10),
  evm('optimism-sepolia', 11155420),
  evm('base-mainnet', 8453),
  evm('base-sepolia', 84532),
  evm('linea-mainnet', 59144),
  evm('linea-sepolia', 59141),
  evm('avalanche-mainnet', 43114, 'AVAX'),
  evm('avalanche-fuji', 43113, 'AVAX'),
  evm('bsc-mainnet', 56, 'BNB'),
  evm('bsc-testnet', 97, 'tBNB'),
  evm('blast-mainnet', 81457),
  evm('blast-sepolia', 168587773),
  evm('zksync-mainnet', 324),
  evm('zksync-sepolia', 300),
  starknet('starknet-mainnet', 'SN_MAIN'),
  starknet('starknet-sepolia', 'SN_SEPOLIA'),
  solana('solana-mainnet', '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'),
  solana('solana-devnet', 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'),
]

/**
 * The 27 networks by slug. The name of one EVM family, an Arbitrum Orbit chain with the ids 4663 and 46630, is a setting;
 * a name that another family uses is rejected.
 */
export function createNetworkTable(extraFamily: string): ReadonlyMap<string, RpcNetwork> {
  const extra = [evm(`${extraFamily}-mainnet`, 4663), evm(`${extraFamily}-testnet`, 46630)]
  const table = new Map([...NAMED_NETWORKS, ...extra].map((network) => [network.slug, network]))
  if (table.size !== NAMED_NETWORKS.length + extra.length) {
    throw new Error(`rpc.extraFamily "${extraFamily}" is the name of another family; choose a different name`)
  }
  return table
}
