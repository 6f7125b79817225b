import { randomBytes } from 'node:crypto'
import {
  type Address,
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  type LocalAccount,
  parseSignature,
  toHex,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import {
  BASE_NETWORK,
  type BaseChain,
  DOLLAR_TOKEN_ABI,
  MERCHANT_ADDRESS,
  USDC_ADDRESS,
  WALLET_FACTORY_ABI,
  WALLET_FACTORY_ADDRESS,
  WALLET_SALT,
} from './base-chain.ts'

/** The EIP-3009 payload of scheme `exact`: integers as decimal text. */
export interface EvmPayload {
  signature: Hex
  authorization: { from: Address; to: Address; value: string; validAfter: string; validBefore: string; nonce: Hex }
}

export interface AuthorizationOptions {
  value?: bigint
  to?: Address
  /** A contract wallet that the signer owns. */
  from?: Address
  validAfter?: bigint
  validBefore?: bigint
  nonce?: Hex
  /** What the signature is bound to; other values make a signature that the token refuses. */
  domain?: { name?: string; version?: string; chainId?: number; verifyingContract?: Address }
}

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
  CancelAuthorization: [
    { name: 'authorizer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const
const DOMAIN = { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: USDC_ADDRESS }

/** A wallet that nothing else uses. It needs no ETH: the facilitator pays the gas. */
export function createPayer(): LocalAccount {
  return privateKeyToAccount(generatePrivateKey())
}

/** Such a wallet with a USDC balance. */
export async function createFundedPayer(chain: BaseChain, amountAtomic = 20_000_000n): Promise<LocalAccount> {
  const payer = createPayer()
  await chain.fund(payer.address, amountAtomic)
  return payer
}

/** Signs a transfer of 5 USDC to the merchant, valid for five minutes, where the options say nothing else. */
export async function signAuthorization(
  signer: LocalAccount,
  { value = 5_000_000n, to = MERCHANT_ADDRESS, from = signer.address, domain, ...options }: AuthorizationOptions = {},
): Promise<EvmPayload> {
  const validAfter = options.validAfter ?? 0n
  const validBefore = options.validBefore ?? BigInt(Math.floor(Date.now() / 1000) + 300)
  const nonce = options.nonce ?? toHex(randomBytes(32))
  const signature = await signer.signTypedData({
    domain: { ...DOMAIN, ...domain },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { from, to, value, validAfter, validBefore, nonce },
  })
  const texts = { value: String(value), validAfter: String(validAfter), validBefore: String(validBefore) }
  return { signature, authorization: { from, to, ...texts, nonce } }
}

/** Takes back an authorisation before it is used, as its signer may do at any time. */
export async function cancelAuthorization(chain: BaseChain, signer: LocalAccount, nonce: Hex): Promise<void> {
  const authorizer = signer.address
  const message = { authorizer, nonce }
  const signature = await signer.signTypedData({
    domain: DOMAIN,
    types: TYPES,
    primaryType: 'CancelAuthorization',
    message,
  })
  const hash = await chain.client.writeContract({
    address: USDC_ADDRESS,
    abi: DOLLAR_TOKEN_ABI,
    functionName: 'cancelAuthorization',
    args: [authorizer, nonce, signature],
  })
  await chain.client.waitForTransactionReceipt({ hash })
}

/** The call that settles an authorisation: whoever sees it may send it. */
export function transferCall({ authorization, signature }: EvmPayload): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const fields = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce] as const
  const abi = DOLLAR_TOKEN_ABI
  const functionName = 'transferWithAuthorization'
  if (signature.length !== 132) return encodeFunctionData({ abi, functionName, args: [...fields, signature] })
  const { r, s, yParity } = parseSignature(signature)
  return encodeFunctionData({ abi, functionName, args: [...fields, 27 + yParity, r, s] })
}

/** What a front-runner does: settles another's authorisation by his own transaction. */
export async function frontRun(chain: BaseChain, payload: EvmPayload): Promise<Hex> {
  const hash = await chain.client.sendTransaction({ to: USDC_ADDRESS, data: transferCall(payload) })
  await chain.client.waitForTransactionReceipt({ hash })
  return hash
}

/** A signature for a wallet that is not deployed yet, wrapped as ERC-6492 asks. */
export async function signAsUndeployedWallet(chain: BaseChain, owner: LocalAccount): Promise<EvmPayload> {
  const factory = { address: WALLET_FACTORY_ADDRESS, abi: WALLET_FACTORY_ABI } as const
  const args = [owner.address, WALLET_SALT] as const
  const wallet = await chain.client.readContract({ ...factory, functionName: 'walletOf', args })
  const payload = await signAuthorization(owner, { from: wallet })
  const deployment = encodeFunctionData({ abi: WALLET_FACTORY_ABI, functionName: 'createWallet', args })
  const wrapped = encodeAbiParameters(
    [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
    [WALLET_FACTORY_ADDRESS, deployment, payload.signature],
  )
  return { ...payload, signature: concat([wrapped, `0x${'6492'.repeat(16)}`]) }
}

/** The `accepts` entry that a payment answers. */
export function baseRequirement(amount = '5000000', payTo: Address = MERCHANT_ADDRESS) {
  return {
    scheme: 'exact',
    network: BASE_NETWORK,
    amount,
    asset: USDC_ADDRESS,
    payTo,
    maxTimeoutSeconds: 300,
    extra: { name: 'USD Coin', version: '2' },
  }
}
