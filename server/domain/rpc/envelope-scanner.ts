import { isUtf8 } from 'node:buffer'
import { DomainError, type ValidationTree } from '../errors.ts'
import { JsonReader, MalformedJsonError, stringText } from './json-reader.ts'

const RPC_BATCH_ITEMS_MAX = 100
/** Includes the levels of the envelope and the batch. */
export const RPC_NESTING_LEVELS_MAX = 64
/** An envelope has 4 members; unknown ones are dropped, but comparing each name takes time. */
const ITEM_MEMBERS_MAX = 64
/** The largest legitimate bodies, declarations of Starknet classes, have about 80,000 values. */
const BODY_VALUES_MAX = 250_000
/** Longer than any method, even with every letter escaped. */
const METHOD_BYTES_MAX = 512

export interface ByteRange {
  start: number
  end: number
}

export interface EnvelopeItem {
  /** The whole object with its braces. */
  range: ByteRange
  /** Raw id with quotes; null for a notification. */
  id: ByteRange | null
  /** Unescaped. */
  method: string
  /** The array with its brackets. */
  params: ByteRange | null
  /**
   * True if the item can be sent byte for byte: it has `jsonrpc` and only envelope members, and their names contain no
   * escapes.
   */
  clean: boolean
}

export interface Envelope {
  batch: boolean
  items: EnvelopeItem[]
}

type EnvelopeKey = 'jsonrpc' | 'id' | 'method' | 'params'
const ENVELOPE_KEYS: readonly EnvelopeKey[] = ['jsonrpc', 'id', 'method', 'params']
const KEY_BITS: Readonly<Record<EnvelopeKey, number>> = { jsonrpc: 1, id: 2, method: 4, params: 8 }
/** `jsonrpc` with every letter escaped; a longer name cannot be an envelope member. */
const KEY_BYTES_MAX = 42

/**
 * Finds the envelope of a JSON-RPC body, single or batch, in one pass over its bytes without re-serializing: big
 * integers, key order and escapes inside `params` stay as sent. Nodes disagree on duplicate or differently spelled
 * members, odd ids and odd shapes, so anything ambiguous is rejected. Fails with `invalid_json` (syntax, encoding,
 * nesting over 64) and `invalid_request` (shape; names the member, such as `2.id` for the third item of a batch).
 */
export function scanEnvelope(body: Buffer): Envelope {
  if (body.length === 0)
    throw new DomainError('invalid_json', 'The body is empty; send a JSON-RPC request object or an array of them')
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new DomainError('invalid_json', 'Invalid JSON: the body begins with a byte order mark; send it without one')
  }
  if (!isUtf8(body)) throw new DomainError('invalid_json', 'Invalid JSON: the body is not valid UTF-8')
  try {
    return new EnvelopeScanner(body).scan()
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error
    throw new DomainError('invalid_json', `Invalid JSON: ${error.message} at byte ${error.offset}`)
  }
}

class EnvelopeScanner {
  readonly #body: Buffer
  readonly #reader: JsonReader
  /** Position of the current item; null outside a batch. */
  #position: number | null = null
  /** Envelope members seen in the current item, one bit each. */
  #seen = 0

  constructor(body: Buffer) {
    this.#body = body
    this.#reader = new JsonReader(body, { depthMax: RPC_NESTING_LEVELS_MAX, valuesMax: BODY_VALUES_MAX })
  }

  scan(): Envelope {
    const batch = this.#reader.peek() === 0x5b
    const items = batch ? this.#batch() : [this.#item(1)]
    if (this.#reader.peek() !== undefined) {
      throw new MalformedJsonError('text after the JSON value', this.#reader.at)
    }
    return { batch, items }
  }

  #batch(): EnvelopeItem[] {
    const reader = this.#reader
    reader.expect(0x5b)
    if (reader.take(0x5d)) throw new DomainError('invalid_request', 'The batch is empty; send 1 to 100 requests')
    const items: EnvelopeItem[] = []
    do {
      if (items.length === RPC_BATCH_ITEMS_MAX) {
        throw new DomainError('invalid_request', `The batch has more than ${RPC_BATCH_ITEMS_MAX} items; split it`)
      }
      this.#position = items.length
      items.push(this.#item(2))
    } while (reader.take(0x2c))
    reader.expect(0x5d)
    return items
  }

  /** Reads one request; `depth` containers are open around its members. */
  #item(depth: number): EnvelopeItem {
    const reader = this.#reader
    const first = reader.peek()
    if (first !== 0x7b) {
      if (first === undefined) throw reader.malformed()
      reader.skipValue(depth - 1)
      throw this.#refuse(null, 'must be a JSON-RPC request object')
    }
    const item: EnvelopeItem = { range: { start: reader.at, end: 0 }, id: null, method: '', params: null, clean: true }
    reader.at += 1
    this.#seen = 0
    if (!reader.take(0x7d)) {
      let members = 0
      do {
        members += 1
        if (members > ITEM_MEMBERS_MAX) throw this.#refuse(null, `must have at most ${ITEM_MEMBERS_MAX} members`)
        this.#member(item, depth)
      } while (reader.take(0x2c))
      reader.expect(0x7d)
    }
    if ((this.#seen & KEY_BITS.method) === 0) throw this.#refuse('method', 'is required')
    if ((this.#seen & KEY_BITS.jsonrpc) === 0) item.clean = false
    item.range.end = reader.at
    return item
  }

  #member(item: EnvelopeItem, depth: number): void {
    const reader = this.#reader
    const key = this.#key(item)
    if (key === null) {
      item.clean = false
      reader.skipValue(depth)
      return
    }
    if ((this.#seen & KEY_BITS[key]) !== 0) throw this.#refuse(key, 'is duplicated')
    this.#seen |= KEY_BITS[key]
    if (key === 'method') item.method = this.#text('method', 'must be a string')
    else if (key === 'id') item.id = this.#id()
    else if (key === 'params') item.params = this.#params(depth)
    else if (this.#text('jsonrpc', 'must be "2.0"') !== '2.0') throw this.#refuse('jsonrpc', 'must be "2.0"')
  }

  /** Reads the member name and the colon; null for a name that is not an envelope member. */
  #key(item: EnvelopeItem): EnvelopeKey | null {
    const reader = this.#reader
    reader.peek()
    const start = reader.at
    const escaped = reader.skipString()
    const end = reader.at
    reader.expect(0x3a)
    reader.peek()
    if (!escaped) {
      for (const key of ENVELOPE_KEYS) if (this.#isWord(start + 1, end - 1, key)) return key
    }
    if (end - start - 2 > KEY_BYTES_MAX) return null
    const name = stringText(this.#body, { start, end, escaped })
    for (const key of ENVELOPE_KEYS) {
      if (name === key) {
        item.clean = false
        return key
      }
      // Some nodes ignore case and would read this member while others would not.
      if (name.toUpperCase() === key.toUpperCase()) {
        throw this.#refuse(key, `must be spelled "${key}", not ${JSON.stringify(name)}`)
      }
    }
    return null
  }

  #isWord(start: number, end: number, word: string): boolean {
    if (end - start !== word.length) return false
    for (let index = 0; index < word.length; index += 1) {
      if (this.#body[start + index] !== word.charCodeAt(index)) return false
    }
    return true
  }

  #text(key: EnvelopeKey, complaint: string): string {
    const reader = this.#reader
    const start = reader.at
    if (this.#body[start] !== 0x22) throw this.#refuseValue(key, complaint)
    const escaped = reader.skipString()
    if (reader.at - start - 2 > METHOD_BYTES_MAX) {
      throw this.#refuse(key, key === 'method' ? `must have at most ${METHOD_BYTES_MAX} bytes` : complaint)
    }
    return stringText(this.#body, { start, end: reader.at, escaped })
  }

  #id(): ByteRange {
    const reader = this.#reader
    const start = reader.at
    const first = this.#body[start]
    const isNumber = first === 0x2d || (first !== undefined && first >= 0x30 && first <= 0x39)
    if (first === 0x22) reader.skipString()
    else if (!isNumber) throw this.#refuseValue('id', 'must be an integer or a string; omit it for a notification')
    else if (!reader.skipNumber())
      throw this.#refuse('id', 'must be an integer without fraction or exponent, or a string')
    return { start, end: reader.at }
  }

  #params(depth: number): ByteRange {
    const reader = this.#reader
    const start = reader.at
    if (this.#body[start] !== 0x5b) throw this.#refuseValue('params', 'must be an array; omit it if there are none')
    reader.skipValue(depth)
    return { start, end: reader.at }
  }

  /** Rejects a member's value, or the JSON if the value is not valid JSON. */
  #refuseValue(key: EnvelopeKey, message: string): DomainError {
    this.#reader.skipValue(1)
    return this.#refuse(key, message)
  }

  #refuse(key: EnvelopeKey | null, message: string): DomainError {
    const position = this.#position === null ? [] : [String(this.#position)]
    const path = key === null ? position : [...position, key]
    const field = path.join('.')
    const details = path.reduceRight<ValidationTree>((inner, name) => ({ _errors: [], [name]: inner }), {
      _errors: [message],
    })
    return new DomainError('invalid_request', `Invalid request parameters: ${field || 'body'}: ${message}`, {
      details,
      ...(field ? { field } : {}),
    })
  }
}

const PROTOCOL = Buffer.from('{"jsonrpc":"2.0"')

/** The bytes to send to a node: the item as received if it is clean, otherwise a new envelope around its raw parts. */
export function forwardedBytes(body: Buffer, item: EnvelopeItem): Buffer {
  if (item.clean) return body.subarray(item.range.start, item.range.end)
  const parts: Buffer[] = [PROTOCOL]
  if (item.id !== null) parts.push(Buffer.from(',"id":'), body.subarray(item.id.start, item.id.end))
  parts.push(Buffer.from(`,"method":${JSON.stringify(item.method)}`))
  if (item.params !== null) parts.push(Buffer.from(',"params":'), body.subarray(item.params.start, item.params.end))
  parts.push(Buffer.from('}'))
  return Buffer.concat(parts)
}
