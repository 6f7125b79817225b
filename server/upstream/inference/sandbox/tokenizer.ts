const MAX_RUN_CHARACTERS = 1_000
const MAX_COUNTED_CHARACTERS = 200_000

const LONG_RUNS = new RegExp(`\\S{${MAX_RUN_CHARACTERS + 1},}|\\s{${MAX_RUN_CHARACTERS + 1},}`, 'g')

export interface Tokenizer {
  /** Exact up to 200,000 characters, extrapolated beyond. */
  count(text: string): number
  /** The first tokens of the text. */
  cut(text: string, maxTokens: number): { text: string; tokens: number; isCut: boolean }
  /** The text in pieces of about one token each; joined they equal the text. */
  pieces(text: string): string[]
}

/** Imported on first use: the vocabulary takes 80 ms and 30 MB that a server without sandbox models never needs. */
export async function loadTokenizer(): Promise<Tokenizer> {
  const { encode, decode, decodeGenerator } = await import('gpt-tokenizer/encoding/o200k_base')
  const plain = { disallowedSpecial: new Set<string>() }
  const encodeGuarded = (text: string) => splitLongRuns(text).flatMap((part) => encode(part, plain))
  return {
    count(text) {
      if (text.length <= MAX_COUNTED_CHARACTERS) return encodeGuarded(text).length
      const counted = encodeGuarded(text.slice(0, MAX_COUNTED_CHARACTERS)).length
      return Math.ceil((counted * text.length) / MAX_COUNTED_CHARACTERS)
    },
    cut(text, maxTokens) {
      const tokens = encodeGuarded(text)
      if (tokens.length <= maxTokens) return { text, tokens: tokens.length, isCut: false }
      // A character may span tokens; half a character at the cut is dropped.
      const kept = decode(tokens.slice(0, maxTokens)).replace(/\uFFFD+$/, '')
      return { text: kept, tokens: maxTokens, isCut: true }
    },
    pieces: (text) => [...decodeGenerator(encodeGuarded(text))],
  }
}

/** Byte pair encoding is quadratic in the length of a word, so words beyond 1,000 characters are cut first. */
function splitLongRuns(text: string): string[] {
  const parts: string[] = []
  let at = 0
  for (const run of text.matchAll(LONG_RUNS)) {
    parts.push(text.slice(at, run.index))
    at = run.index + run[0].length
    for (let from = run.index; from < at; ) {
      const to = endOfPiece(text, Math.min(from + MAX_RUN_CHARACTERS, at))
      parts.push(text.slice(from, to))
      from = to
    }
  }
  parts.push(text.slice(at))
  return parts
}

/** Never between the two halves of a surrogate pair. */
function endOfPiece(text: string, end: number): number {
  const code = text.charCodeAt(end)
  return code >= 0xdc00 && code <= 0xdfff ? end + 1 : end
}
