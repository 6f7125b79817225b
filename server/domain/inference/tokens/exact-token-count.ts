/** Byte-pair merging is quadratic in the length of a word; one of 20,000 letters would take half a second. */
const RUN_CHARACTERS_MAX = 250
/** A cut inside a run adds at most two tokens in practice. */
export const TOKENS_PER_CUT_MAX = 4
/** The longest token of the encoding is a run of 128 spaces. */
const TOKEN_CHARACTERS_MAX = 128

export interface TokenCount {
  tokens: number
  /** A lower bound, below `tokens` if the text or its words were too long for an exact count. */
  atLeast: number
}

export type CountTokens = (text: string) => TokenCount

/** Loads OpenAI's o200k encoding: 58 MB, and a tenth of a second. */
export async function loadTokenCount(): Promise<CountTokens> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  // A prompt may contain `<|endoftext|>` as plain text, which the library rejects by default.
  const options = { disallowedSpecial: new Set<string>() }
  return (text) => {
    let tokens = 0
    let start = 0
    const cuts = longRunCuts(text)
    for (const end of cuts) {
      tokens += countTokens(text.slice(start, end), options)
      start = end
    }
    tokens += countTokens(text.slice(start), options)
    if (cuts.length === 0) return { tokens, atLeast: tokens }
    const sure = Math.max(tokens - cuts.length * TOKENS_PER_CUT_MAX, Math.ceil(text.length / TOKEN_CHARACTERS_MAX))
    return { tokens, atLeast: Math.min(tokens, sure) }
  }
}

/**
 * Cost of counting a text, at most slightly above `max`: the squares of its word lengths, plus a share for each
 * character. One unit takes about 20 ns; 64 KiB of English has 800,000 units, of random Chinese 60 million.
 */
export function countingCost(text: string, max: number): number {
  let cost = 8 * text.length
  let kind = -1
  let runLength = 0
  for (let index = 0; index < text.length && cost <= max; index++) {
    const code = text.charCodeAt(index)
    const next = runKind(code)
    if (next !== kind || runLength > 2 * RUN_CHARACTERS_MAX) runLength = 0
    kind = next
    // A character beyond ASCII has two bytes or more.
    const width = code < 128 ? 1 : 2
    cost += width * (2 * runLength + width)
    runLength += width
  }
  return cost
}

/** Positions that cut a text so that no run of one kind of character exceeds the limit. */
function longRunCuts(text: string): number[] {
  const cuts: number[] = []
  let kind = -1
  let runLength = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const next = runKind(code)
    runLength = next === kind ? runLength + 1 : 1
    kind = next
    // Keeps surrogate pairs together.
    if (runLength > RUN_CHARACTERS_MAX && (code & 0xfc00) !== 0xdc00) {
      cuts.push(index)
      runLength = 1
    }
  }
  return cuts
}

/** Letters (including all of non-ASCII), digits, spaces, punctuation: the tokenizer splits only between these kinds. */
function runKind(code: number): number {
  if (code >= 128 || (code >= 97 && code <= 122) || (code >= 65 && code <= 90)) return 0
  if (code >= 48 && code <= 57) return 1
  return code <= 32 ? 2 : 3
}
