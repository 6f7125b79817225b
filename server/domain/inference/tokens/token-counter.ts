import { hash } from 'node:crypto'
import { RecentCache } from '../../recent-cache.ts'
import {
  type CountTokens,
  countingCost,
  loadTokenCount,
  TOKENS_PER_CUT_MAX,
  type TokenCount,
} from './exact-token-count.ts'
import { textSlices } from './text-slices.ts'
import { TokenCountPool } from './token-count-pool.ts'
import { estimateTokens } from './token-estimate.ts'

/** More expensive counts, above about 5 ms, run in a worker thread. */
const INLINE_COST_MAX = 250_000
const INLINE_CHARACTERS_MAX = 65_536
/** No model writes more; the rest of a longer text is extrapolated from its beginning. */
const COMPLETION_CHARACTERS_MAX = 1024 * 1024
/** Hashing a longer text would itself delay other requests. */
const REMEMBERED_CHARACTERS_MAX = 1024 * 1024
const REMEMBERED_COUNTS_MAX = 20_000
const ESTIMATED_CHARACTERS_PER_TOKEN = 3

/** Counts tokens with OpenAI's o200k encoding, which is near enough to what other models count. */
export class TokenCounter {
  readonly #pool = new TokenCountPool()
  #loading: Promise<CountTokens> | undefined
  /**
   * Keyed by digest, so that no prompt stays in memory. A chat sends its earlier turns again with each new one, and
   * hashing a text is faster than encoding even a few words of it.
   */
  readonly #remembered = new RecentCache<TokenCount>({ entriesMax: REMEMBERED_COUNTS_MAX })

  /**
   * Tokens of several texts together. Exact, unless they have more than `enough`: then counting stops, `atLeast` is above
   * it, and the rest is estimated.
   */
  async count(texts: readonly string[], enough = Number.POSITIVE_INFINITY): Promise<TokenCount> {
    const countNow = await (this.#loading ??= loadTokenCount())
    const total: TokenCount = { tokens: 0, atLeast: 0 }
    let inlineCost = 0
    for (const text of texts) {
      const left = enough - total.atLeast
      const digest = text.length > REMEMBERED_CHARACTERS_MAX ? undefined : hash('sha256', text, 'base64')
      let counted = digest === undefined ? undefined : this.#remembered.get(digest)
      if (counted === undefined) {
        const cost = text.length > INLINE_CHARACTERS_MAX ? INLINE_COST_MAX : countingCost(text, INLINE_COST_MAX)
        inlineCost += cost
        // Many short texts are as much work as a long one, so other requests run in between.
        if (inlineCost > INLINE_COST_MAX) inlineCost = await nextTurn()
        counted = cost < INLINE_COST_MAX && left >= 0 ? countNow(text) : await this.#countInSlices(text, left)
        if (digest !== undefined && counted.atLeast <= left) this.#remembered.set(digest, counted)
      }
      add(total, counted)
    }
    return total
  }

  /** Counts a completion, whose length only the response limit bounds. */
  async countCompletion(text: string): Promise<number> {
    if (text.length <= COMPLETION_CHARACTERS_MAX) return (await this.count([text])).tokens
    const { tokens } = await this.count([text.slice(0, COMPLETION_CHARACTERS_MAX)])
    return Math.ceil((tokens * text.length) / COMPLETION_CHARACTERS_MAX)
  }

  async #countInSlices(text: string, enough: number): Promise<TokenCount> {
    const total: TokenCount = { tokens: 0, atLeast: 0 }
    let countedCharacters = 0
    for (const slice of textSlices(text)) {
      if (total.atLeast > enough) break
      add(total, await this.#countSlice(slice.text))
      if (!slice.startsToken) total.atLeast = Math.max(0, total.atLeast - TOKENS_PER_CUT_MAX)
      countedCharacters += slice.text.length
    }
    total.tokens += Math.ceil((text.length - countedCharacters) / ESTIMATED_CHARACTERS_PER_TOKEN)
    return total
  }

  /** If the thread fails, requests continue with an estimate that is above the count of ordinary text. */
  #countSlice(slice: string): Promise<TokenCount> {
    return this.#pool.count(slice).catch(() => ({ tokens: estimateTokens(slice), atLeast: 0 }))
  }
}

function nextTurn(): Promise<number> {
  return new Promise((resolve) => setImmediate(resolve, 0))
}

function add(total: TokenCount, { tokens, atLeast }: TokenCount): void {
  total.tokens += tokens
  total.atLeast += atLeast
}
