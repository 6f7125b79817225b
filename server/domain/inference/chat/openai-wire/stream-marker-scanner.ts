export const DONE_MARK = '[DONE]'
/** Some servers name their failures in it. */
const EVENT_FIELD = 'event:'

type Search = (text: string, from: number) => number

const SEARCHES: readonly Search[] = [
  (text, from) => findMember(text, '"usage"', from),
  (text, from) => findMember(text, '"error"', from),
  (text, from) => findMember(text, '"finish_reason"', from),
  (text, from) => find(text, DONE_MARK, from),
  (text, from) => (text.startsWith(EVENT_FIELD, from) ? from : find(text, `\n${EVENT_FIELD}`, from)),
]

/** The places in a text of frames that the platform must read. However often it is asked, each mark is searched through once. */
export class StreamMarkerScanner {
  readonly #text: string
  readonly #found = SEARCHES.map(() => -1)

  constructor(text: string) {
    this.#text = text
  }

  /** The first one at or after `start`, which must not fall; the text's length where there is none. */
  firstFrom(start: number): number {
    let first = this.#text.length
    for (const [index, search] of SEARCHES.entries()) {
      let at = this.#found[index] ?? -1
      if (at < start) at = search(this.#text, start)
      this.#found[index] = at
      if (at < first) first = at
    }
    return first
  }
}

function find(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from)
  return at < 0 ? text.length : at
}

/**
 * The next member of that name with another value than null. Within JSON strings quotes are escaped, so that a quoted key
 * can only be a key, or a string that is no more than that word, which no colon follows.
 */
function findMember(text: string, key: string, from: number): number {
  for (let at = text.indexOf(key, from); at >= 0; at = text.indexOf(key, at + key.length)) {
    let next = at + key.length
    while (text[next] === ' ') next++
    if (text[next] !== ':') continue
    next++
    while (text[next] === ' ') next++
    if (text[next] !== 'n') return at
  }
  return text.length
}
