import { SluiceError } from '../errors.ts'
import { isRecord } from '../http/error-body.ts'
import { randomHex } from '../http/transport.ts'
import type { PaymentTypedData, Wallet } from './wallet.ts'

/** One payment option of the service (x402 version 2). */
export interface PaymentRequirement {
  scheme: string
  /** CAIP-2. */
  network: string
  /** Minimum amount in base units of the asset. */
  amount: string
  asset: string
  payTo: string
  maxTimeoutSeconds: number
  extra?: Record<string, unknown>
}

/** Circle's own token on each network: amounts assume its six decimals. */
const USDC: Readonly<Record<string, string>> = {
  'eip155:8453': '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
}

const TRANSFER_FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
]

/** The offer that the wallet can pay. Throws if there is none, or if it requires a token other than USDC. */
export function chooseRequirement(body: unknown, wallet: Wallet): PaymentRequirement {
  const family = wallet.address.startsWith('0x') ? 'eip155:' : 'solana:'
  const accepts: unknown = isRecord(body) ? body['accepts'] : undefined
  const offers = Array.isArray(accepts) ? (accepts as PaymentRequirement[]) : []
  const offer = offers.find(({ scheme, network }) => scheme === 'exact' && network.startsWith(family))
  if (offer === undefined)
    throw new SluiceError(`The service does not accept payments from ${wallet.address} on its chain`)
  if (USDC[offer.network]?.toLowerCase() !== offer.asset.toLowerCase()) {
    throw new SluiceError(
      `The service asks for ${offer.asset} on ${offer.network}, which is not USDC; nothing was signed`,
    )
  }
  return offer
}

/** The value of a `PAYMENT-SIGNATURE` header. */
export function encodePayment(accepted: PaymentRequirement, payload: object): string {
  return btoa(JSON.stringify({ x402Version: 2, accepted, payload }))
}

/** A transfer that the service may submit for the wallet, once and within its time limit. */
export async function signEvmPayment(wallet: Wallet, requirement: PaymentRequirement): Promise<object> {
  const { extra = {}, network, asset, payTo, amount, maxTimeoutSeconds } = requirement
  if (wallet.signTypedData === undefined)
    throw new SluiceError('The wallet has no signTypedData, which payments require')
  const message: PaymentTypedData['message'] = {
    from: wallet.address as `0x${string}`,
    to: payTo as `0x${string}`,
    value: BigInt(amount),
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.now() / 1_000) + maxTimeoutSeconds),
    nonce: `0x${randomHex(32)}`,
  }
  const signature = await wallet.signTypedData({
    domain: {
      name: String(extra['name']),
      version: String(extra['version']),
      chainId: Number(network.split(':')[1]),
      verifyingContract: asset as `0x${string}`,
    },
    types: { TransferWithAuthorization: TRANSFER_FIELDS },
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const texts = Object.entries(message).map(([name, value]) => [name, String(value)])
  return { signature, authorization: Object.fromEntries(texts) as Record<string, string> }
}
