export const DONE_MARK = '[DONE]'
/** Some servers report failures as a named event. */
const EVENT_FIELD = 'event:'

type Search = (text: string, from: number) => number

const SEARCHES: readonly Search[] = [
  (text, from) => findMember(text, '"usage"', from),
  (text, from) => findMember(text, '"error"', from),
  (text, from) => findMember(text, '"finish_reason"', from),
  (text, from) => find(text, DONE_MARK, from),
  (text, from) => (text.startsWith(EVENT_FIELD, from) ? from : find(text, `\n${EVENT_FIELD}`, from)),
]

/**
 * Finds the positions in a text of frames that Sluice must parse. Each marker is searched for only once, however often
 * the scanner is called.
 */
export class StreamMarkerScanner {
  readonly #text: string
  readonly #found = SEARCHES.map(() => -1)

  constructor(text: string) {
    this.#text = text
  }

  /** The first position at or after `start`, which must never decrease; the text's length if there is none. */
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
 * The next member with this name and a value other than null. Quotes inside JSON strings are escaped, so the quoted name
 * is either a key or a whole string value, and no colon follows a value.
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
