import { CASE_BIT, CLOSING, COMMA, endOfString, OPENING, QUOTE } from '../../bodies/json-structure.ts'

/** Smaller responses are always cheap to parse. */
const CHECKED_FROM_BYTES = 32 * 1024
/** Deeper values cannot be serialized as JSON again. */
const DEPTH_MAX = 1_000
/** Objects, arrays and members: the log probabilities of 30,000 tokens have about as many. */
const STRUCTURES_MAX = 4_194_304
/** Twice the numbers of 2,048 embeddings with 4,096 dimensions. */
const ITEMS_MAX = 16_777_216

const COLON = 0x3a

/**
 * Whether parsing a JSON response would take many times the memory of its bytes, which a provider could use to crash the
 * process. Does not validate the JSON.
 */
export function isTooComplex(json: Uint8Array): boolean {
  if (json.length < CHECKED_FROM_BYTES) return false
  let depth = 0
  let structures = 0
  let items = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number
    if (byte === QUOTE) at = endOfString(json, at)
    else if (byte === COMMA) items++
    else if (byte === COLON) structures++
    else if ((byte | CASE_BIT) === CLOSING) depth--
    else if ((byte | CASE_BIT) === OPENING) {
      depth++
      structures++
    }
    if (depth > DEPTH_MAX || structures > STRUCTURES_MAX || items > ITEMS_MAX) return true
  }
  return false
}
