import { DomainError } from '../errors.ts'

/** Smaller bodies are always fast to parse, so checking them would only cost. */
export const CHECKED_FROM_BYTES = 32 * 1024
const DEPTH_MAX = 256
/**
 * Above the number of values in a conversation of 2,000 messages with tools, whose bulk is strings (text and images).
 * Values cost more than parsing, because each is also validated and copied between threads.
 */
const VALUES_MAX = 32_768
/** An object with more members becomes a dictionary, which is far slower to build, validate and copy. */
const SMALL_MEMBERS_MAX = 64
const LARGE_MEMBERS_MAX = 4_096

export const QUOTE = 0x22
const BACKSLASH = 0x5c
export const COMMA = 0x2c
/** `[` and `{` differ in this bit alone, as do `]` and `}`. */
export const CASE_BIT = 0x20
export const OPENING = 0x7b
export const CLOSING = 0x7d

/**
 * Rejects JSON that would block the process for seconds: brackets take far longer to parse than text. Strings are skipped
 * as a whole, so a large image costs almost nothing. Does not validate the JSON.
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

/** Rejects large objects that together have more members than any real request. */
export function assertFewMembers(value: unknown): void {
  let members = 0
  const visit = (inner: unknown): void => {
    if (typeof inner !== 'object' || inner === null) return
    const values: unknown[] = Array.isArray(inner) ? inner : Object.values(inner)
    if (!Array.isArray(inner) && values.length > SMALL_MEMBERS_MAX) members += values.length
    if (members > LARGE_MEMBERS_MAX) throw tooComplex(`has objects with more than ${LARGE_MEMBERS_MAX} fields`)
    for (const item of values) visit(item)
  }
  visit(value)
}

/** Position of the quote that ends the string; after the last byte if there is none. */
export function endOfString(json: Uint8Array, start: number): number {
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
