import { isRecord } from './completion-text.ts'

const OPEN = '<think>'
const CLOSE = '</think>'
const THINKING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details'] as const

/** Removes `<think>` blocks from text that arrives in pieces; a tag may be split between two pieces. */
export class ThinkTagFilter {
  #inside = false
  /** Set after a block, because the line breaks before the answer belong to neither. */
  #trimming = false
  #held = ''

  push(piece: string): string {
    let text = this.#held + piece
    let out = ''
    this.#held = ''
    while (text !== '') {
      const tag = this.#inside ? CLOSE : OPEN
      const at = text.indexOf(tag)
      const end = at >= 0 ? at : text.length - partialTagLength(text, tag)
      if (!this.#inside) out += this.#trimmed(text.slice(0, end))
      if (at < 0) {
        this.#held = text.slice(end)
        break
      }
      this.#trimming = this.#inside
      this.#inside = !this.#inside
      text = text.slice(at + tag.length)
    }
    return out
  }

  /** Returns the text that was kept back and is not a tag. */
  flush(): string {
    const rest = this.#inside ? '' : this.#trimmed(this.#held)
    this.#held = ''
    return rest
  }

  #trimmed(text: string): string {
    if (!this.#trimming) return text
    const trimmed = text.trimStart()
    if (trimmed !== '') this.#trimming = false
    return trimmed
  }
}

export function withoutThinking(message: Record<string, unknown>): Record<string, unknown> {
  const rest = withoutThinkingFields(message)
  if (typeof rest['content'] !== 'string') return rest
  const filter = new ThinkTagFilter()
  return { ...rest, content: filter.push(rest['content']) + filter.flush() }
}

/** Removes thinking from the parsed chunks of a stream, with separate state per choice. */
export class ThinkingChunkFilter {
  readonly #filters = new Map<unknown, ThinkTagFilter>()

  /** Returns the chunk without thinking; undefined if nothing is left. */
  filter(chunk: Record<string, unknown>): Record<string, unknown> | undefined {
    const { choices } = chunk
    if (!Array.isArray(choices) || choices.length === 0) return chunk
    const kept = choices.flatMap((choice) => this.#filterChoice(choice))
    return kept.length === 0 ? undefined : { ...chunk, choices: kept }
  }

  #filterChoice(choice: unknown): unknown[] {
    if (!isRecord(choice) || !isRecord(choice['delta'])) return [choice]
    const delta = withoutThinkingFields(choice['delta'])
    const filter = this.#filterFor(choice['index'])
    const finished = choice['finish_reason'] !== null && choice['finish_reason'] !== undefined
    const given = delta['content']
    const shown = (typeof given === 'string' ? filter.push(given) : '') + (finished ? filter.flush() : '')
    if (typeof given === 'string') delete delta['content']
    if (shown !== '' || given === '') delta['content'] = shown
    return Object.keys(delta).length === 0 && !finished ? [] : [{ ...choice, delta }]
  }

  #filterFor(index: unknown): ThinkTagFilter {
    const known = this.#filters.get(index)
    if (known !== undefined) return known
    const filter = new ThinkTagFilter()
    this.#filters.set(index, filter)
    return filter
  }
}

function withoutThinkingFields(part: Record<string, unknown>): Record<string, unknown> {
  const rest = { ...part }
  for (const field of THINKING_FIELDS) delete rest[field]
  return rest
}

/** Length of the longest suffix of `text` that is a prefix of `tag`. */
function partialTagLength(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length
  }
  return 0
}
