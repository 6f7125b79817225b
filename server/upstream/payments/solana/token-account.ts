import { createHash } from 'node:crypto'
import { base58 } from '@scure/base'
import { type Address, isOffCurveAddress } from '@solana/kit'
import { parseSolanaKey } from '../../../domain/wallets/wallet-address.ts'

const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'
export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'

/** False for an address with a private key; true for an account that only a program can sign for. */
export function isProgramAccount(address: string): boolean {
  return isOffCurveAddress(address as Address)
}

/** The token account that all wallets derive for an owner: the first of 256 candidates that is not a public key. */
export function tokenAccountOf(owner: string, mint: string): string {
  const seeds = [owner, TOKEN_PROGRAM, mint].map(keyBytes)
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash('sha256')
    for (const part of [...seeds, Buffer.of(bump), keyBytes(ASSOCIATED_TOKEN_PROGRAM)]) hash.update(part)
    const candidate = base58.encode(hash.update('ProgramDerivedAddress').digest())
    if (isProgramAccount(candidate)) return candidate
  }
  throw new Error(`no token account can be derived for ${owner}`)
}

function keyBytes(address: string): Buffer {
  const key = parseSolanaKey(address)
  if (key === undefined) throw new Error(`${address} is not a Solana address`)
  return key
}
