import { createHash } from 'node:crypto'
import { toUuid } from '../ids.ts'
import type { WalletAddress } from './wallet-address.ts'

/**
 * The id of a wallet's own account: a UUID version 8 (RFC 9562) derived from the chain and the canonical address, so that
 * a wallet that only signs in needs no row.
 */
export function accountIdOf({ chain, address }: WalletAddress): string {
  const bytes = createHash('sha256').update(`${chain}:${address}`).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return toUuid(bytes.toString('hex'))
}
