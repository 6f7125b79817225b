const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export function toBase58(bytes: Uint8Array): string {
  let text = ''
  for (let number = BigInt(`0x0${toHex(bytes)}`); number > 0n; number /= 58n) {
    text = ALPHABET.charAt(Number(number % 58n)) + text
  }
  // Each leading zero byte becomes a `1`.
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text
}

/** The 32 bytes of a Solana address or blockhash. Throws a RangeError for anything else. */
export function fromBase58(text: string): Uint8Array {
  let number = 0n
  for (const character of text) {
    const digit = ALPHABET.indexOf(character)
    if (digit === -1) throw new RangeError(`${text} is not Base58`)
    number = number * 58n + BigInt(digit)
  }
  const bytes = new Uint8Array(32)
  for (let at = 31; at >= 0; at--) {
    bytes[at] = Number(number & 255n)
    number >>= 8n
  }
  if (toBase58(bytes) !== text) throw new RangeError(`${text} is not the Base58 of 32 bytes`)
  return bytes
}
