const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const VALUES = new Map(ALPHABET.split('').map((character, value) => [character, value]))

/** Bytes of a Base58 text in Bitcoin's alphabet, as Solana writes them; undefined for any other character. Quadratic: bound the text first. */
export function decodeBase58(text: string): Buffer | undefined {
  const bytes: number[] = []
  for (const character of text) {
    let carry = VALUES.get(character)
    if (carry === undefined) return undefined
    for (let at = 0; at < bytes.length; at++) {
      carry += (bytes[at] ?? 0) * 58
      bytes[at] = carry & 0xff
      carry >>= 8
    }
    for (; carry > 0; carry >>= 8) bytes.push(carry & 0xff)
  }
  return Buffer.from([...new Uint8Array(leading(text, '1')), ...bytes.toReversed()])
}

export function encodeBase58(bytes: Uint8Array): string {
  const digits: number[] = []
  for (const byte of bytes) {
    let carry = byte
    for (let at = 0; at < digits.length; at++) {
      carry += (digits[at] ?? 0) * 256
      digits[at] = carry % 58
      carry = Math.floor(carry / 58)
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58)
  }
  const zeros = bytes.findIndex((byte) => byte !== 0)
  const ones = '1'.repeat(zeros < 0 ? bytes.length : zeros)
  return (
    ones +
    digits
      .toReversed()
      .map((digit) => ALPHABET.charAt(digit))
      .join('')
  )
}

function leading(text: string, character: string): number {
  let count = 0
  while (text.charAt(count) === character) count++
  return count
}
