/** Nodes that a chain, or its client library, publishes for everybody. */
const EVM_NODES: Readonly<Record<string, readonly string[]>> = {
  'ethereum-mainnet': ['https://ethereum.reth.rs/rpc'],
  'ethereum-sepolia': ['https://11155111.rpc.thirdweb.com'],
  'ethereum-holesky': ['https://ethereum-holesky-rpc.publicnode.com'],
  'polygon-mainnet': ['https://polygon.drpc.org'],
  'polygon-amoy': ['https://polygon-amoy.drpc.org'],
  'arbitrum-mainnet': ['https://arb1.arbitrum.io/rpc'],
  'arbitrum-sepolia': ['https://sepolia-rollup.arbitrum.io/rpc'],
  'optimism-mainnet': ['https://mainnet.optimism.io'],
  'optimism-sepolia': ['https://sepolia.optimism.io'],
  'base-mainnet': ['https://mainnet.base.org'],
  'base-sepolia': ['https://sepolia.base.org'],
  'linea-mainnet': ['https://rpc.linea.build'],
  'linea-sepolia': ['https://rpc.sepolia.linea.build'],
  'avalanche-mainnet': ['https://api.avax.network/ext/bc/C/rpc'],
  'avalanche-fuji': ['https://api.avax-test.network/ext/bc/C/rpc'],
  'bsc-mainnet': ['https://56.rpc.thirdweb.com'],
  'bsc-testnet': ['https://data-seed-prebsc-1-s1.bnbchain.org:8545'],
  'blast-mainnet': ['https://rpc.blast.io'],
  'blast-sepolia': ['https://sepolia.blast.io'],
  'zksync-mainnet': ['https://mainnet.era.zksync.io'],
  'zksync-sepolia': ['https://sepolia.era.zksync.dev'],
}

/** The family whose name is a setting; its chain ids are fixed, and so are its nodes. */
const extraFamilyNodes = (name: string): Readonly<Record<string, readonly string[]>> => ({
  [`${name}-mainnet`]: ['https://rpc.mainnet.chain.robinhood.com'],
  [`${name}-testnet`]: ['https://rpc.testnet.chain.robinhood.com'],
})

const OTHER_NODES: Readonly<Record<string, readonly string[]>> = {
  'starknet-mainnet': ['https://api.zan.top/public/starknet-mainnet/rpc/v0_10'],
  'starknet-sepolia': ['https://api.zan.top/public/starknet-sepolia/rpc/v0_10'],
  'solana-mainnet': ['https://api.mainnet-beta.solana.com'],
  'solana-devnet': ['https://api.devnet.solana.com'],
}

/**
 * Public nodes by network slug, for instances without configured nodes. They are shared, limited and without guarantees.
 * Sources: viem 2.57.1 chain definitions, starknet.js 10.8.0 default nodes, solana.com/docs/references/clusters.
 */
export function listPublicNodes(extraFamily: string): Record<string, { upstreams: { url: string }[] }> {
  return Object.fromEntries(
    Object.entries({ ...EVM_NODES, ...extraFamilyNodes(extraFamily), ...OTHER_NODES }).map(([slug, urls]) => [
      slug,
      { upstreams: urls.map((url) => ({ url })) },
    ]),
  )
}
