import type { TokenCounter } from '../../tokens/token-counter.ts'
import { completionText, isRecord } from '../openai-wire/completion-text.ts'
import { choicesOf } from '../openai-wire/openai-passage.ts'
import { splitFrames } from '../openai-wire/sse-frames.ts'

/** Delivered frames are kept raw up to this size; then they are counted and let go. */
const KEPT_BYTES_MAX = 256 * 1024
/** What the members that every chunk repeats take at least, beside the values of `id`, `object` and `model`. */
const ENVELOPE_BYTES = 100

/**
 * Knows what a stream has delivered without parsing it: an upper bound of its tokens from its bytes, which is enough while
 * the hold is far, and the exact count when it is asked for.
 */
export class StreamMeter {
  readonly #counter: TokenCounter
  #kept: Buffer[] = []
  #keptBytes = 0
  #envelopeBytes = 0
  #envelopeKnown = false
  #countedTokens = 0
  /** Upper bound of the tokens in the kept frames: a token is a byte at least. */
  #boundTokens = 0
  #counting: Promise<void> = Promise.resolve()

  constructor(counter: TokenCounter) {
    this.#counter = counter
  }

  /** The values that every chunk of this stream repeats, so that they are not taken for text. The first chunk tells. */
  learnEnvelope(first: Readonly<Record<string, unknown>> | undefined): void {
    if (this.#envelopeKnown || first === undefined) return
    this.#envelopeKnown = true
    const { id, object, model } = first
    const repeated = [id, object, model].reduce(
      (sum: number, value) => sum + (typeof value === 'string' ? value.length : 0),
      0,
    )
    this.#envelopeBytes = repeated === 0 ? 0 : repeated + ENVELOPE_BYTES
  }

  add(bytes: Buffer, frames: number): void {
    if (bytes.length === 0) return
    this.#kept.push(bytes)
    this.#keptBytes += bytes.length
    const text = bytes.length - frames * this.#envelopeBytes
    // Shorter frames than the first one's members need: this provider repeats nothing.
    if (text < 0) this.#envelopeBytes = 0
    this.#boundTokens += text < 0 ? bytes.length : text
  }

  /** Whether so much is kept that it should be counted. */
  get isFull(): boolean {
    return this.#keptBytes > KEPT_BYTES_MAX
  }

  /** No fewer tokens than were delivered. */
  get boundTokens(): number {
    return this.#countedTokens + this.#boundTokens
  }

  /** The tokens that were delivered, by our own count. Calls that overlap count nothing twice. */
  async count(): Promise<number> {
    const texts = new Map<unknown, string>()
    for (const frame of this.#kept.flatMap(splitFrames)) this.#collect(frame, texts)
    this.#kept = []
    this.#keptBytes = 0
    this.#boundTokens = 0
    if (texts.size > 0) this.#counting = this.#counting.then(() => this.#countTexts([...texts.values()]))
    await this.#counting
    return this.#countedTokens
  }

  async #countTexts(texts: readonly string[]): Promise<void> {
    for (const text of texts) this.#countedTokens += await this.#counter.countCompletion(text)
  }

  /** Joins the text of each choice, since the pieces of a word are more tokens than the word. */
  #collect(frame: Buffer, texts: Map<unknown, string>): void {
    for (const choice of choicesOf(frame)) {
      if (!isRecord(choice)) continue
      const { index, delta } = choice
      const text = completionText(delta)
      if (text !== '') texts.set(index, (texts.get(index) ?? '') + text)
    }
  }
}
