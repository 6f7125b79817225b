import { base58 } from '@scure/base'

/**
 * Decodes Base58 in Bitcoin's alphabet, which Solana uses; undefined if the text has any other character. Takes quadratic
 * time: limit the length first.
 */
export function decodeBase58(text: string): Buffer | undefined {
  try {
    return Buffer.from(base58.decode(text))
  } catch {
    return undefined
  }
}
