import type { TokenCounter } from '../../tokens/token-counter.ts'
import { completionText, isRecord } from '../openai-wire/completion-text.ts'
import { choicesOf } from '../openai-wire/openai-passage.ts'
import { splitFrames } from '../openai-wire/sse-frames.ts'

/** Delivered frames are kept unparsed up to this size, then counted and dropped. */
const KEPT_BYTES_MAX = 256 * 1024
/** Minimum size of the members that every chunk repeats, without the values of `id`, `object` and `model`. */
const ENVELOPE_BYTES = 100

/**
 * Measures a delivered stream without parsing it: an upper bound of its tokens from its bytes, which is enough while the
 * hold is far away, and the exact count on request.
 */
export class StreamMeter {
  readonly #counter: TokenCounter
  #kept: Buffer[] = []
  #keptBytes = 0
  #envelopeBytes = 0
  #envelopeKnown = false
  #countedTokens = 0
  /** Upper bound of the tokens in the kept frames: a token has at least one byte. */
  #boundTokens = 0
  #counting: Promise<void> = Promise.resolve()

  constructor(counter: TokenCounter) {
    this.#counter = counter
  }

  /** Learns from the first chunk the values that every chunk repeats, so that they are not counted as text. */
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
    // A frame is shorter than the first chunk's members, so this provider does not repeat them.
    if (text < 0) this.#envelopeBytes = 0
    this.#boundTokens += text < 0 ? bytes.length : text
  }

  get isFull(): boolean {
    return this.#keptBytes > KEPT_BYTES_MAX
  }

  get boundTokens(): number {
    return this.#countedTokens + this.#boundTokens
  }

  /** The delivered tokens by our own count. Overlapping calls count nothing twice. */
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

  /** Joins the text of each choice before counting, because the pieces of a word have more tokens than the word. */
  #collect(frame: Buffer, texts: Map<unknown, string>): void {
    for (const choice of choicesOf(frame)) {
      if (!isRecord(choice)) continue
      const { index, delta } = choice
      const text = completionText(delta)
      if (text !== '') texts.set(index, (texts.get(index) ?? '') + text)
    }
  }
}
