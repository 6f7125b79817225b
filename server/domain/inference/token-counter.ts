import { hash } from 'node:crypto'
import { RecentCache } from '../recent-cache.ts'
import { estimateTokens } from './token-estimate.ts'

/** Above this much text, counting would hold up everybody else's requests. */
const EXACT_CHARACTERS_MAX = 65_536
/** A text of this size is beyond any model; the rest of a longer one is taken to be like its beginning. */
const COUNTED_CHARACTERS_MAX = 1024 * 1024
/** Byte-pair merging is quadratic in the length of a word; one of 20,000 letters would take half a second. */
const RUN_CHARACTERS_MAX = 250
/** No real text packs more characters into a token on average; only there does a long text surely have that many tokens. */
const CHARACTERS_PER_TOKEN_MAX = 16
const REMEMBERED_COUNTS_MAX = 20_000

export interface TokenCount {
  tokens: number
  /** What the text has in any case: the count itself, or far less where it is only an estimate. */
  atLeast: number
}

type CountTokens = (text: string) => number

/** Counts tokens with OpenAI's o200k encoding, which is near enough to what other models count. */
export class TokenCounter {
  #countTokens: CountTokens | undefined
  #loading: Promise<void> | undefined
  /**
   * By digest, so that no prompt stays in memory. A chat sends its earlier turns again with each new one, and a digest is
   * made sooner than a few words are looked up in an encoding of 58 MB.
   */
  readonly #remembered = new RecentCache<number>({ entriesMax: REMEMBERED_COUNTS_MAX })

  /** Loads the encoding, once. Its 80 ms belong at the start of the process; counting before is estimating. */
  load(): Promise<void> {
    this.#loading ??= this.#load()
    return this.#loading
  }

  /** Tokens of several texts: exact together up to 64 Ki characters, an upper estimate above. */
  count(texts: readonly string[]): TokenCount {
    const characters = texts.reduce((sum, text) => sum + text.length, 0)
    if (this.#countTokens !== undefined && characters <= EXACT_CHARACTERS_MAX) {
      const tokens = texts.reduce((sum, text) => sum + this.#countOnce(text), 0)
      return { tokens, atLeast: tokens }
    }
    const tokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0)
    return { tokens, atLeast: Math.min(tokens, Math.floor(characters / CHARACTERS_PER_TOKEN_MAX)) }
  }

  /** Exact up to 1 Mi characters, in time proportional to them: for texts that are charged by this count. */
  countExactly(text: string): number {
    const countTokens = this.#countTokens
    if (countTokens === undefined) return estimateTokens(text)
    if (text.length <= RUN_CHARACTERS_MAX) return countTokens(text)
    if (text.length > COUNTED_CHARACTERS_MAX) {
      const tokens = this.countExactly(text.slice(0, COUNTED_CHARACTERS_MAX))
      return Math.ceil((tokens * text.length) / COUNTED_CHARACTERS_MAX)
    }
    let tokens = 0
    let start = 0
    for (const end of longRunCuts(text)) {
      tokens += countTokens(text.slice(start, end))
      start = end
    }
    return tokens + countTokens(text.slice(start))
  }

  #countOnce(text: string): number {
    const digest = hash('sha256', text, 'base64')
    const known = this.#remembered.get(digest)
    if (known !== undefined) return known
    const tokens = this.countExactly(text)
    this.#remembered.set(digest, tokens)
    return tokens
  }

  async #load(): Promise<void> {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    // A prompt may hold `<|endoftext|>` as plain text, which the library refuses by default.
    const options = { disallowedSpecial: new Set<string>() }
    this.#countTokens = (text) => countTokens(text, options)
  }
}

/** Where to cut a text so that no run of one kind of characters is longer than the limit. */
function longRunCuts(text: string): number[] {
  const cuts: number[] = []
  let kind = -1
  let runLength = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const next = runKind(code)
    runLength = next === kind ? runLength + 1 : 1
    kind = next
    // The second half of a surrogate pair stays with its first.
    if (runLength > RUN_CHARACTERS_MAX && (code & 0xfc00) !== 0xdc00) {
      cuts.push(index)
      runLength = 1
    }
  }
  return cuts
}

/** Letters (all beyond ASCII count as such), digits, spaces, punctuation: the tokenizer splits nowhere else. */
function runKind(code: number): number {
  if (code >= 128 || (code >= 97 && code <= 122) || (code >= 65 && code <= 90)) return 0
  if (code >= 48 && code <= 57) return 1
  return code <= 32 ? 2 : 3
}
