import type { AnswerKind } from './answer-reader.ts'

/** Longest member name examined; `result` with every letter escaped has 36 bytes. */
const NAME_BYTES_MAX = 36

/**
 * Scans one response as it arrives and determines its price as soon as the top-level `result` or `error` begins, so that
 * a response of any size passes in bounded memory. It decides as `readAnswer` does, and follows strings and brackets to
 * the end to detect truncated responses; it does not check the rest of the grammar.
 */
export class AnswerScanner {
  kind: AnswerKind | null = null
  /** `complete` once the top-level object has closed. */
  state: 'open' | 'complete' | 'malformed' = 'open'
  #depth = 0
  #inString = false
  #afterBackslash = false
  #expectsName = false
  #expectsValue = false
  #nullResult = false
  readonly #name = Buffer.alloc(NAME_BYTES_MAX)
  #nameLength = 0

  push(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length && this.state !== 'malformed') {
      if (this.#inString) {
        at = this.#string(chunk, at)
      } else {
        this.#structure(chunk[at] ?? 0)
        at += 1
      }
    }
  }

  /** Continues inside a string; returns the offset after the bytes read. */
  #string(chunk: Uint8Array, from: number): number {
    let afterBackslash = this.#afterBackslash
    let at = from
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at]
      if (afterBackslash) afterBackslash = false
      else if (byte === 0x5c) afterBackslash = true
      else if (byte === 0x22) {
        this.#inString = false
        break
      }
    }
    this.#afterBackslash = afterBackslash
    if (this.#expectsName) this.#collectName(chunk, from, at)
    return at + 1
  }

  #collectName(chunk: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; at += 1) {
      if (this.#nameLength < NAME_BYTES_MAX) this.#name[this.#nameLength] = chunk[at] ?? 0
      this.#nameLength += 1
    }
    if (!this.#inString) this.#expectsName = false
  }

  #structure(byte: number): void {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return
    if (this.#depth === 0) {
      this.#root(byte)
      return
    }
    if (this.#depth === 1) {
      if (this.#expectsValue) this.#decide(byte)
      if (byte === 0x3a) this.#expectsValue = true
      if (byte === 0x2c) this.#beginName()
    }
    if (byte === 0x22) this.#inString = true
    else if (byte === 0x7b || byte === 0x5b) this.#depth += 1
    else if (byte === 0x7d || byte === 0x5d) this.#close()
  }

  #root(byte: number): void {
    if (this.state === 'complete' || byte !== 0x7b) {
      this.state = 'malformed'
      return
    }
    this.#depth = 1
    this.#beginName()
  }

  #beginName(): void {
    this.#expectsName = true
    this.#nameLength = 0
  }

  #close(): void {
    this.#depth -= 1
    if (this.#depth > 0) return
    if (this.#nullResult) this.kind ??= 'result'
    this.state = this.kind === null ? 'malformed' : 'complete'
  }

  /** Called at the first byte of a top-level member's value. */
  #decide(firstByte: number): void {
    this.#expectsValue = false
    if (this.kind !== null) return
    const name = this.#memberName()
    const isNull = firstByte === 0x6e
    if (name === 'result' && isNull) this.#nullResult = true
    else if ((name === 'result' || name === 'error') && !isNull) this.kind = name
  }

  #memberName(): string {
    if (this.#nameLength > NAME_BYTES_MAX) return ''
    const raw = this.#name.toString('utf8', 0, this.#nameLength)
    if (!raw.includes('\\')) return raw
    try {
      return String(JSON.parse(`"${raw}"`))
    } catch {
      this.state = 'malformed'
      return ''
    }
  }
}
