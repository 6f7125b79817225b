import { base58 } from '@scure/base'
import { decodeBase58 } from './base58.ts'

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/
const SOLANA_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
const SOLANA_KEY_BYTES = 32

export interface WalletAddress {
  chain: 'evm' | 'solana'
  /** The canonical spelling: EVM in lower case, Solana in Base58 with its case kept. */
  address: string
}

/** The canonical form of a wallet's address; undefined for anything else. */
export function parseWalletAddress(text: string): WalletAddress | undefined {
  if (EVM_ADDRESS.test(text)) return { chain: 'evm', address: text.toLowerCase() }
  const key = parseSolanaKey(text)
  return key === undefined ? undefined : { chain: 'solana', address: base58.encode(key) }
}

/** The 32 bytes of a Solana address. */
export function parseSolanaKey(text: string): Buffer | undefined {
  const key = SOLANA_ADDRESS.test(text) ? decodeBase58(text) : undefined
  return key?.length === SOLANA_KEY_BYTES ? key : undefined
}
