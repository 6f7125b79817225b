import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { base58 } from '@scure/base'
import { decodeBase58 } from './base58.ts'

const SECRET_BYTES = 64
const SEED_BYTES = 32
const CHARACTERS_MAX = 400

export interface SolanaSecret {
  /** Base58. */
  address: string
  key: KeyObject
}

/**
 * A key pair as Base58 of the 64 secret bytes (wallets) or as the JSON array of the same bytes (Solana command line).
 * Undefined for anything else, also where the public half does not belong to the secret one.
 */
export function parseSolanaSecret(text: string): SolanaSecret | undefined {
  if (text.length > CHARACTERS_MAX) return undefined
  const secret = text.trimStart().startsWith('[') ? parseArray(text) : decodeBase58(text.trim())
  if (secret?.length !== SECRET_BYTES) return undefined
  const [seed, publicKey] = [secret.subarray(0, SEED_BYTES), secret.subarray(SEED_BYTES)]
  const [d, x] = [seed.toString('base64url'), publicKey.toString('base64url')]
  try {
    const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' })
    if (createPublicKey(key).export({ format: 'jwk' }).x !== x) return undefined
    return { address: base58.encode(publicKey), key }
  } catch {
    return undefined
  }
}

function parseArray(text: string): Buffer | undefined {
  try {
    const bytes: unknown = JSON.parse(text)
    const valid = Array.isArray(bytes) && bytes.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)
    return valid ? Buffer.from(bytes) : undefined
  } catch {
    return undefined
  }
}
