import { createPublicKey, verify } from 'node:crypto'
import { decodeBase58 } from '../base58.ts'
import { parseSolanaKey } from '../wallet-address.ts'
import { signInRefused } from './sign-in-error.ts'

const SIGNATURE_BYTES = 64
const BASE64_SIGNATURE = /^[A-Za-z0-9+/]{86}==$/
const BASE58_CHARACTERS_MAX = 88

/**
 * The y coordinates of all points whose order divides 8, little-endian without the sign: anybody can sign for such a key.
 */
const SMALL_ORDER_Y = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
])
/** A coordinate at or above the prime 2^255 - 19 is a second spelling of a smaller one. */
const BEYOND_PRIME = /^(?:e[d-f]|f[0-9a-f])(?:ff){30}7f$/

/** Fails with `sign_in_refused` unless the key at `address` signed the text (Ed25519, RFC 8032). */
export function verifySolanaSignature(signed: { address: string; text: string; signature: string }): void {
  const key = parseSolanaKey(signed.address)
  if (key === undefined || isWeak(key)) {
    throw signInRefused('INVALID_WALLET', 'this address is not a key that a wallet can own')
  }
  const signature = decodeSignature(signed.signature)
  if (signature?.length !== SIGNATURE_BYTES) {
    throw signInRefused('INVALID_SIGNATURE', 'the signature of a Solana wallet must be 64 bytes in Base58 or Base64')
  }
  if (isValid(key, Buffer.from(signed.text), signature)) return
  throw signInRefused('INVALID_SIGNATURE', 'the signature was not made by this wallet for this message')
}

function isValid(key: Buffer, text: Buffer, signature: Buffer): boolean {
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url') }
    return verify(null, text, createPublicKey({ key: jwk, format: 'jwk' }), signature)
  } catch {
    return false
  }
}

function isWeak(key: Buffer): boolean {
  const y = Buffer.from(key)
  y[31] = (y[31] ?? 0) & 0x7f
  const hex = y.toString('hex')
  return SMALL_ORDER_Y.has(hex) || BEYOND_PRIME.test(hex)
}

function decodeSignature(text: string): Buffer | undefined {
  if (BASE64_SIGNATURE.test(text)) return Buffer.from(text, 'base64')
  return text.length <= BASE58_CHARACTERS_MAX ? decodeBase58(text) : undefined
}
