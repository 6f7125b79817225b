import { DomainError } from '../errors.ts'

/** Below this size no structure takes long to parse, and checking it would only cost. */
const CHECKED_FROM_BYTES = 32 * 1024
const DEPTH_MAX = 256
/** Far above any real conversation, whose bulk is text and images: those are strings. */
const VALUES_MAX = 1_000_000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
/** `[` and `{` differ in this bit alone, as do `]` and `}`. */
const CASE_BIT = 0x20
const OPENING = 0x7b
const CLOSING = 0x7d

/**
 * Refuses JSON whose parsing would hold the process for seconds: brackets cost a parser far more than bytes of text do.
 * Strings are skipped whole, so that a large image costs next to nothing. Says nothing about whether the JSON is valid.
 */
export function assertParsable(json: Uint8Array): void {
  if (json.length < CHECKED_FROM_BYTES) return
  let depth = 0
  let values = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number
    if (byte === QUOTE) at = endOfString(json, at)
    else if (byte === COMMA) values++
    else if ((byte | CASE_BIT) === CLOSING) depth--
    else if ((byte | CASE_BIT) === OPENING) {
      depth++
      values++
      if (depth > DEPTH_MAX) throw tooComplex(`is nested more than ${DEPTH_MAX} levels deep`)
    }
    if (values > VALUES_MAX) throw tooComplex(`has more than ${VALUES_MAX} values`)
  }
}

/** Place of the quote that ends the string, or behind the last byte where none does. */
function endOfString(json: Uint8Array, start: number): number {
  const quote = json.indexOf(QUOTE, start + 1)
  if (quote < 0) return json.length
  if (json[quote - 1] !== BACKSLASH) return quote
  let at = start + 1
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1
  return at
}

function tooComplex(what: string): DomainError {
  return new DomainError('invalid_request', `The request body ${what}; send less in one request`)
}
