const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const MINUS = 0x2d
const ZERO = 0x30

/** Why and where a text is not the expected JSON. */
export class MalformedJsonError extends Error {
  override readonly name = 'MalformedJsonError'
  readonly offset: number

  constructor(reason: string, offset: number) {
    super(reason)
    this.offset = offset
  }
}

/**
 * Strict RFC 8259 reader over raw bytes, which must be valid UTF-8. It builds no values: callers keep byte ranges, so
 * that they forward exactly the bytes they received. It does not recurse, so deep nesting uses no stack.
 */
export class JsonReader {
  readonly bytes: Buffer
  /** Offset of the next unread byte. */
  at: number
  readonly #depthMax: number
  readonly #valuesMax: number
  #values = 0
  /** Open containers inside the value being skipped; true means object. */
  readonly #open: boolean[] = []

  constructor(bytes: Buffer, { depthMax, valuesMax = Infinity }: { depthMax: number; valuesMax?: number }) {
    this.bytes = bytes
    this.at = 0
    this.#depthMax = depthMax
    this.#valuesMax = valuesMax
  }

  /** Peeks at the next byte after white space; undefined at the end. */
  peek(): number | undefined {
    const bytes = this.bytes
    let at = this.at
    let byte = bytes[at]
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      at += 1
      byte = bytes[at]
    }
    this.at = at
    return byte
  }

  /** Consumes the byte if it is next. */
  take(byte: number): boolean {
    if (this.peek() !== byte) return false
    this.at += 1
    return true
  }

  expect(byte: number): void {
    if (!this.take(byte)) throw this.malformed()
  }

  malformed(): MalformedJsonError {
    const byte = this.bytes[this.at]
    return new MalformedJsonError(byte === undefined ? 'unexpected end' : 'unexpected character', this.at)
  }

  /** Reads a string; true if it contains an escape. */
  skipString(): boolean {
    const bytes = this.bytes
    if (bytes[this.at] !== QUOTE) throw this.malformed()
    let escaped = false
    let at = this.at + 1
    for (;;) {
      const byte = bytes[at]
      if (byte === QUOTE) break
      if (byte === BACKSLASH) {
        escaped = true
        at = this.#escapeEnd(at + 1)
      } else if (byte === undefined || byte < 0x20) {
        this.at = at
        throw this.malformed()
      } else {
        at += 1
      }
    }
    this.at = at + 1
    return escaped
  }

  /** Reads a number; true if it is an integer without fraction or exponent. */
  skipNumber(): boolean {
    const bytes = this.bytes
    if (bytes[this.at] === MINUS) this.at += 1
    if (bytes[this.at] === ZERO) this.at += 1
    else this.#skipDigits()
    let integer = true
    if (bytes[this.at] === 0x2e) {
      integer = false
      this.at += 1
      this.#skipDigits()
    }
    const exponent = bytes[this.at]
    if (exponent === 0x65 || exponent === 0x45) {
      integer = false
      this.at += 1
      const sign = bytes[this.at]
      if (sign === 0x2b || sign === MINUS) this.at += 1
      this.#skipDigits()
    }
    return integer
  }

  /** Reads any value; `depth` containers are already open. */
  skipValue(depth: number): void {
    const open = this.#open
    open.length = 0
    for (;;) {
      this.#values += 1
      if (this.#values > this.#valuesMax) {
        throw new MalformedJsonError(`more than ${this.#valuesMax} values`, this.at)
      }
      const byte = this.peek()
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (depth + open.length >= this.#depthMax) {
          throw new MalformedJsonError(`nesting is deeper than ${this.#depthMax} levels`, this.at)
        }
        this.at += 1
        if (!this.take(byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET)) {
          open.push(byte === OPEN_BRACE)
          if (byte === OPEN_BRACE) this.#skipKey()
          continue
        }
      } else {
        this.#skipScalar(byte)
      }
      this.#closeContainers()
      if (open.length === 0) return
    }
  }

  /** After a value: closes the containers that end here, or moves to the next member of the innermost one. */
  #closeContainers(): void {
    const open = this.#open
    while (open.length > 0) {
      const inObject = open.at(-1) === true
      if (this.take(COMMA)) {
        if (inObject) this.#skipKey()
        return
      }
      this.expect(inObject ? CLOSE_BRACE : CLOSE_BRACKET)
      open.pop()
    }
  }

  #skipKey(): void {
    this.peek()
    this.skipString()
    this.expect(COLON)
  }

  #skipScalar(byte: number | undefined): void {
    if (byte === QUOTE) this.skipString()
    else if (byte === 0x74) this.#skipWord('true')
    else if (byte === 0x66) this.#skipWord('false')
    else if (byte === 0x6e) this.#skipWord('null')
    else this.skipNumber()
  }

  #skipWord(word: string): void {
    for (let index = 0; index < word.length; index += 1) {
      if (this.bytes[this.at] !== word.charCodeAt(index)) throw this.malformed()
      this.at += 1
    }
  }

  #skipDigits(): void {
    const start = this.at
    for (;;) {
      const byte = this.bytes[this.at]
      if (byte === undefined || byte < ZERO || byte > 0x39) break
      this.at += 1
    }
    if (this.at === start) throw this.malformed()
  }

  /** Offset after the escape whose letter is at `at`. */
  #escapeEnd(at: number): number {
    const letter = this.bytes[at]
    if (letter === 0x75) {
      for (let index = at + 1; index <= at + 4; index += 1) {
        if (!isHexDigit(this.bytes[index])) {
          this.at = index
          throw this.malformed()
        }
      }
      return at + 5
    }
    // Quote, backslash, slash, b, f, n, r, t.
    const simple =
      letter === QUOTE ||
      letter === BACKSLASH ||
      letter === 0x2f ||
      letter === 0x62 ||
      letter === 0x66 ||
      letter === 0x6e ||
      letter === 0x72 ||
      letter === 0x74
    if (simple) return at + 1
    this.at = at
    throw this.malformed()
  }
}

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
}

/** The text of the string whose quotes are at `start` and `end - 1`. */
export function stringText(bytes: Buffer, range: { start: number; end: number; escaped: boolean }): string {
  if (!range.escaped) return bytes.toString('utf8', range.start + 1, range.end - 1)
  return JSON.parse(bytes.toString('utf8', range.start, range.end)) as string
}
