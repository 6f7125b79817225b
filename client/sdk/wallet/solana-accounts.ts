import { toHex } from './base58.ts'

/** The field and the constant d of Curve25519 in Edwards form (RFC 8032, 5.1). */
const FIELD = 2n ** 255n - 19n
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n

/**
 * The address that a program derives from seeds: the first hash, with a decreasing last seed, that is not a public key.
 */
export async function deriveAddress(seeds: readonly Uint8Array[], program: Uint8Array): Promise<Uint8Array> {
  const marker = new TextEncoder().encode('ProgramDerivedAddress')
  for (let bump = 255; bump >= 0; bump--) {
    const parts = [...seeds, Uint8Array.of(bump), program, marker]
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', concatBytes(parts)))
    if (!isOnCurve(hash)) return hash
  }
  throw new RangeError('The seeds have no valid address')
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** Whether 32 bytes are a point on the curve: x² = (y² - 1) / (dy² + 1) must have a root. */
function isOnCurve(bytes: Uint8Array): boolean {
  const littleEndian = BigInt(`0x${toHex(bytes.toReversed())}`)
  const y = (littleEndian & (2n ** 255n - 1n)) % FIELD
  const ySquared = (y * y) % FIELD
  // A quotient is a square exactly if the product is one.
  const product = ((ySquared - 1n + FIELD) * (D * ySquared + 1n)) % FIELD
  return power(product, (FIELD - 1n) / 2n) <= 1n
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  let square = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % FIELD
    square = (square * square) % FIELD
  }
  return result
}
