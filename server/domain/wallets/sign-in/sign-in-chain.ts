import type { WalletAddress } from '../wallet-address.ts'
import { signInRefused } from './sign-in-error.ts'

export const EVM_CHAIN_ID = 8453
export const EVM_CAIP = `eip155:${EVM_CHAIN_ID}`
export const SOLANA_REFERENCE = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
export const SOLANA_CAIP = `solana:${SOLANA_REFERENCE}`

type Chain = WalletAddress['chain']

const CHAIN_OF_ID = new Map<string, Chain>([
  [String(EVM_CHAIN_ID), 'evm'],
  [EVM_CAIP, 'evm'],
  [SOLANA_CAIP, 'solana'],
])
const WELL_FORMED_ID = /^(?:\d{1,20}|[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32})$/

const CHAIN_OF_TYPE: Record<string, Chain> = {
  eip191: 'evm',
  eip1271: 'evm',
  eip6492: 'evm',
  ed25519: 'solana',
  siws: 'solana',
}

/** Values that the signed text may have after `Chain ID:`. */
const IDS_IN_TEXT: Record<Chain, readonly string[]> = {
  evm: [String(EVM_CHAIN_ID)],
  solana: [SOLANA_REFERENCE, SOLANA_CAIP, 'mainnet', 'solana:mainnet'],
}

/** The chain of a payload's `chainId`, from an exact list, so that a chain has only one accepted spelling. */
export function chainOfId(id: string | number): Chain {
  const text = String(id)
  const chain = CHAIN_OF_ID.get(text)
  if (chain !== undefined) return chain
  if (WELL_FORMED_ID.test(text)) throw unsupported(text)
  throw signInRefused('INVALID_CHAIN_ID', `chainId must be ${EVM_CAIP} or ${SOLANA_CAIP}`)
}

/** The chain that a payload's `type` or `signatureScheme` belongs to. */
export function chainOfType(type: string): Chain {
  const chain = Object.hasOwn(CHAIN_OF_TYPE, type) ? CHAIN_OF_TYPE[type] : undefined
  if (chain !== undefined) return chain
  throw signInRefused('INVALID_PAYLOAD', `type must be one of ${Object.keys(CHAIN_OF_TYPE).join(', ')}`)
}

export function assertChainInText(chain: Chain, id: string): void {
  if (IDS_IN_TEXT[chain].includes(id)) return
  if (chain === 'evm' && !/^\d{1,20}$/.test(id)) {
    throw signInRefused('INVALID_CHAIN_ID', `"Chain ID:" must be ${EVM_CHAIN_ID}, as a number`)
  }
  throw unsupported(id)
}

function unsupported(id: string) {
  return signInRefused(
    'UNSUPPORTED_CHAIN',
    `chain ${id.slice(0, 64)} is not supported; sign for Base (${EVM_CAIP}) or Solana (${SOLANA_CAIP})`,
  )
}
