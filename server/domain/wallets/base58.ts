import { base58 } from '@scure/base'

/** Bytes of a Base58 text in Bitcoin's alphabet, as Solana writes them; undefined for any other character. Quadratic: bound the text first. */
export function decodeBase58(text: string): Buffer | undefined {
  try {
    return Buffer.from(base58.decode(text))
  } catch {
    return undefined
  }
}
