import {
  type Address,
  createTestClient,
  encodeAbiParameters,
  type Hex,
  http,
  keccak256,
  pad,
  parseAbi,
  parseGwei,
  publicActions,
  toHex,
  walletActions,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { startAnvil } from './anvil.ts'
import BYTECODE from './contracts/bytecode.json' with { type: 'json' }

/** Where USDC stands on Base. */
export const USDC_ADDRESS: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
/** Where a token of ours is staked; it counts and moves balances as the dollar token does. */
export const STAKING_ADDRESS: Address = '0x57a6e00000000000000000000000000000000001'
export const MULTICALL_ADDRESS: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'
export const WALLET_FACTORY_ADDRESS: Address = '0x6492000000000000000000000000000000000001'
export const BASE_NETWORK = 'eip155:8453'
/** An account that anvil funds with 10,000 ETH: it pays for gas as a facilitator. */
export const FACILITATOR_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
/** Another one, for whoever else sends transactions: a front-runner, a plain transfer. */
const STRANGER_KEY = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'
export const MERCHANT_ADDRESS: Address = '0x00000000000000000000000000000000000c0ffe'

export const DOLLAR_TOKEN_ABI = parseAbi([
  'function balanceOf(address account) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
])

export const WALLET_FACTORY_ABI = parseAbi([
  'function walletOf(address owner, bytes32 salt) view returns (address)',
  'function createWallet(address owner, bytes32 salt) returns (address wallet)',
])

export const MULTICALL_ABI = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) payable returns (Result[] results)',
])

function createChainClient(url: string) {
  const account = privateKeyToAccount(STRANGER_KEY)
  const transport = http(url)
  return createTestClient({ account, chain: base, mode: 'anvil', transport, pollingInterval: 20, cacheTime: 0 })
    .extend(publicActions)
    .extend(walletActions)
}

export interface BaseChain extends AsyncDisposable {
  url: string
  /** viem's public, wallet and test actions in one; it signs as the stranger. */
  client: ReturnType<typeof createChainClient>
  /** Gives an address its whole balance of USDC, or of another such token, in base units; no transaction is mined for it. */
  fund: (address: Address, amountAtomic: bigint, token?: Address) => Promise<void>
  balanceOf: (address: Address) => Promise<bigint>
  isUsed: (authorizer: Address, nonce: Hex) => Promise<boolean>
  /** Transactions wait in the pool from now on. */
  stopMining: () => Promise<void>
  /** Mines what waits, and every further transaction at once. */
  resumeMining: () => Promise<void>
  /** The next block has this base fee, and no room for any transaction: those that offer less than it wait on. */
  raiseBaseFee: (gwei: string) => Promise<void>
  /** The contract wallet of an owner, deployed. */
  deployWallet: (owner: Address) => Promise<Address>
  close: () => Promise<void>
}

/** A real EVM node that plays Base, with a dollar token where USDC stands, Multicall3 and a factory of contract wallets. */
export async function startBaseChain({ startsAt }: { startsAt?: Date } = {}): Promise<BaseChain> {
  const anvil = await startAnvil({ chainId: base.id, startsAt })
  const client = createChainClient(anvil.url)
  await client.setCode({ address: USDC_ADDRESS, bytecode: BYTECODE.DollarToken as Hex })
  await client.setCode({ address: STAKING_ADDRESS, bytecode: BYTECODE.DollarToken as Hex })
  await client.setCode({ address: MULTICALL_ADDRESS, bytecode: BYTECODE.Multicall3 as Hex })
  await client.setCode({ address: WALLET_FACTORY_ADDRESS, bytecode: BYTECODE.WalletFactory as Hex })
  const dollar = { address: USDC_ADDRESS, abi: DOLLAR_TOKEN_ABI } as const
  const factory = { address: WALLET_FACTORY_ADDRESS, abi: WALLET_FACTORY_ABI } as const
  return {
    url: anvil.url,
    client,
    fund: (address, amountAtomic, token = USDC_ADDRESS) =>
      client.setStorageAt({ address: token, index: balanceSlot(address), value: pad(toHex(amountAtomic)) }),
    balanceOf: (address) => client.readContract({ ...dollar, functionName: 'balanceOf', args: [address] }),
    isUsed: (authorizer, nonce) =>
      client.readContract({ ...dollar, functionName: 'authorizationState', args: [authorizer, nonce] }),
    stopMining: () => client.setAutomine(false),
    async resumeMining() {
      await client.setAutomine(true)
      await client.mine({ blocks: 1 })
    },
    async raiseBaseFee(gwei) {
      await client.setBlockGasLimit({ gasLimit: 20_000n })
      await client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei(gwei) })
      await client.mine({ blocks: 1 })
      await client.setBlockGasLimit({ gasLimit: 30_000_000n })
    },
    async deployWallet(owner) {
      const hash = await client.writeContract({ ...factory, functionName: 'createWallet', args: [owner, WALLET_SALT] })
      await client.waitForTransactionReceipt({ hash })
      return client.readContract({ ...factory, functionName: 'walletOf', args: [owner, WALLET_SALT] })
    },
    close: anvil.close,
    [Symbol.asyncDispose]: anvil.close,
  }
}

export const WALLET_SALT: Hex = pad('0x01')

/** `balanceOf` is the token's first mapping. */
function balanceSlot(address: Address): Hex {
  return keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [address, 0n]))
}
