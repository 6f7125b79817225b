const SLICE_CHARACTERS = 16_384
/** How far back from its end a slice is searched for a position where the tokenizer splits anyway. */
const SEARCH_CHARACTERS = 1_024

export interface TextSlice {
  text: string
  /** False if the slice may begin within a token. */
  startsToken: boolean
}

/** Cuts a long text between words if possible, so that the slices have as many tokens in total as the text. */
export function* textSlices(text: string): Generator<TextSlice> {
  let start = 0
  let startsToken = true
  while (text.length - start > SLICE_CHARACTERS) {
    const latest = start + SLICE_CHARACTERS
    const between = findTokenStart(text, latest)
    const end = between ?? (isSecondHalf(text, latest) ? latest - 1 : latest)
    yield { text: text.slice(start, end), startsToken }
    startsToken = between !== undefined
    start = end
  }
  yield { text: text.slice(start), startsToken }
}

/** A single space belongs to the following word, a line break to the preceding text. */
function findTokenStart(text: string, latest: number): number | undefined {
  for (let at = latest; at > latest - SEARCH_CHARACTERS; at--) {
    const before = text.charCodeAt(at - 1)
    const code = text.charCodeAt(at)
    if (before === 10 && isLetter(code)) return at
    if (code === 32 && isLetter(before) && isLetter(text.charCodeAt(at + 1))) return at
  }
  return undefined
}

/** Letters of English and Chinese, which no tokenizer treats as spaces or punctuation. */
function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 0x4e00 && code <= 0x9fff)
}

/** A cut here would split a surrogate pair. */
function isSecondHalf(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00
}
