/** Kinds of characters; a tokenizer rarely joins two kinds in one token. */
const LOWER = 0
const UPPER = 1
const DIGIT = 2
const SPACE = 3
const PUNCTUATION = 4
const TWO_BYTES = 5
const THREE_BYTES = 6
const SURROGATE = 7

/** Maximum tokens of a run of each kind in ordinary text. */
const TOKENS_OF_RUN: readonly ((length: number) => number)[] = [
  (length) => Math.ceil(length / 3),
  (length) => Math.ceil(length * 0.75),
  (length) => Math.ceil(length / 3),
  // A single space belongs to the following word.
  (length) => (length === 1 ? 0 : 1 + Math.floor(length / 16)),
  (length) => length,
  (length) => length * 0.75,
  (length) => length * 1.5,
  (length) => length * 2,
]

/**
 * Estimates the tokens of a text from above, by its characters alone: 0.2 ms for 64 KiB, while a tokenizer takes 10 ms
 * and, on hostile text, hundreds. About 1.5 times the true count for English prose.
 */
export function estimateTokens(text: string): number {
  let tokens = 0
  let kind = -1
  let runStart = 0
  for (let index = 0; index < text.length; index++) {
    const next = kindOf(text.charCodeAt(index))
    if (next === kind) continue
    // A capital and the small letters after it are one word.
    if (kind === UPPER && next === LOWER && index - runStart === 1) {
      kind = LOWER
      continue
    }
    tokens += TOKENS_OF_RUN[kind]?.(index - runStart) ?? 0
    kind = next
    runStart = index
  }
  return Math.ceil(tokens + (TOKENS_OF_RUN[kind]?.(text.length - runStart) ?? 0))
}

function kindOf(code: number): number {
  if (code >= 0x80) return code >= 0x800 ? (code >= 0xd800 && code <= 0xdfff ? SURROGATE : THREE_BYTES) : TWO_BYTES
  if (code >= 97 && code <= 122) return LOWER
  if (code <= 32) return SPACE
  if (code >= 65 && code <= 90) return UPPER
  return code >= 48 && code <= 57 ? DIGIT : PUNCTUATION
}
