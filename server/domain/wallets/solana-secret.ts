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
 * Parses a key pair: Base58 of the 64 secret bytes (wallets), or a JSON array of the same bytes (Solana command line).
 * Undefined for anything else, including a public half that does not belong to the secret half.
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
