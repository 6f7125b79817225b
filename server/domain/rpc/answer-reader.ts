import type { ByteRange } from './envelope-scanner.ts'
import { JsonReader, MalformedJsonError, stringText } from './json-reader.ts'

/** Decides the price: `error` is billed as an error item, `result` by the method's tier. */
export type AnswerKind = 'result' | 'error'

export interface AnswerItem {
  range: ByteRange
  /** Raw id; null if the member is missing. */
  id: ByteRange | null
  /** Null if the item is not a JSON-RPC response. */
  kind: AnswerKind | null
  /** The error object if `kind` is `error`. */
  error: ByteRange | null
}

export type AnswerBody = { shape: 'single'; item: AnswerItem } | { shape: 'batch'; items: AnswerItem[] }

/** Debug traces nest thousands of levels deep; the reader keeps one flag per level. */
const ANSWER_NESTING_LEVELS_MAX = 1_000_000
/** Ten times the largest batch; records of more items would take far more memory than their bytes. */
const ANSWER_ITEMS_MAX = 1_000

/** Parses a complete response body strictly; undefined if it is not a JSON object or array. */
export function readAnswer(body: Buffer): AnswerBody | undefined {
  const reader = new JsonReader(body, { depthMax: ANSWER_NESTING_LEVELS_MAX })
  try {
    const answer: AnswerBody =
      reader.peek() === 0x5b
        ? { shape: 'batch', items: readItems(reader) }
        : { shape: 'single', item: readItem(reader) }
    return reader.peek() === undefined ? answer : undefined
  } catch (error) {
    if (error instanceof MalformedJsonError) return undefined
    throw error
  }
}

function readItems(reader: JsonReader): AnswerItem[] {
  reader.expect(0x5b)
  if (reader.take(0x5d)) return []
  const items: AnswerItem[] = []
  do {
    if (items.length === ANSWER_ITEMS_MAX) throw reader.malformed()
    if (reader.peek() === 0x7b) items.push(readItem(reader))
    else {
      const start = reader.at
      reader.skipValue(1)
      items.push({ range: { start, end: reader.at }, id: null, kind: null, error: null })
    }
  } while (reader.take(0x2c))
  reader.expect(0x5d)
  return items
}

function readItem(reader: JsonReader): AnswerItem {
  reader.expect(0x7b)
  const item: AnswerItem = { range: { start: reader.at - 1, end: 0 }, id: null, kind: null, error: null }
  let nullResult = false
  if (!reader.take(0x7d)) {
    do {
      const name = readName(reader)
      const isNull = reader.peek() === 0x6e
      const start = reader.at
      reader.skipValue(2)
      const range = { start, end: reader.at }
      if (name === 'id') item.id = range
      else if (name === 'result' && isNull) nullResult = true
      else if (name === 'result') item.kind ??= 'result'
      else if (name === 'error' && !isNull && item.kind === null) {
        item.kind = 'error'
        item.error = range
      }
    } while (reader.take(0x2c))
    reader.expect(0x7d)
  }
  // A null result counts only without an error, because JSON-RPC 1.0 servers send both for a failure.
  if (nullResult) item.kind ??= 'result'
  item.range.end = reader.at
  return item
}

function readName(reader: JsonReader): string {
  reader.peek()
  const start = reader.at
  const escaped = reader.skipString()
  const name = stringText(reader.bytes, { start, end: reader.at, escaped })
  reader.expect(0x3a)
  return name
}
