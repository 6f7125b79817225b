const EMPTY: Buffer = Buffer.alloc(0)
const LINE_FEED = 10
/** A stream may begin with a byte order mark. */
const BYTE_ORDER_MARK = 0xfeff
/** A longer frame is treated as endless. */
const FRAME_BYTES_MAX = 8 * 1024 * 1024

/** Splits an event stream at frame ends, so that frames which arrive together are sent together. */
export class FrameBuffer {
  #parts: Buffer[] = []
  #bytes = 0

  /** Returns all complete frames in one buffer; empty if none is complete yet. */
  push(chunk: Uint8Array): Buffer {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const end = this.#bytes === 0 ? lastFrameEnd(bytes) : this.#endAcross(bytes)
    if (end === 0) {
      this.#keep(bytes)
      return EMPTY
    }
    const head = end === bytes.length ? bytes : bytes.subarray(0, end)
    const complete = this.#bytes === 0 ? head : Buffer.concat([...this.#parts, head])
    this.#parts = []
    this.#bytes = 0
    if (end < bytes.length) this.#keep(bytes.subarray(end))
    return complete
  }

  get overflowed(): boolean {
    return this.#bytes > FRAME_BYTES_MAX
  }

  /** Returns the bytes after the last complete frame; some servers omit the last line break. */
  takeRest(): Buffer {
    const rest = Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    return rest
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#parts.push(bytes)
    this.#bytes += bytes.length
  }

  /** Position of the last frame end in `bytes`; that frame end may begin in the buffered bytes. */
  #endAcross(bytes: Buffer): number {
    const tail = this.#tail()
    return Math.max(0, lastFrameEnd(Buffer.concat([tail, bytes])) - tail.length)
  }

  /** The last two buffered bytes, because at most two bytes of a frame end can arrive earlier. */
  #tail(): Buffer {
    const last = this.#parts.at(-1) ?? EMPTY
    if (last.length >= 2) return last.subarray(-2)
    const before = this.#parts.at(-2) ?? EMPTY
    return Buffer.concat([before.subarray(-1), last])
  }
}

export function splitFrames(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = []
  const text = bytes.toString('latin1')
  let start = 0
  while (start < text.length) {
    const end = firstFrameEnd(text, start)
    frames.push(bytes.subarray(start, end))
    start = end
  }
  return frames
}

export function countFrames(text: string): number {
  let frames = 0
  for (let start = 0; start < text.length; frames++) start = firstFrameEnd(text, start)
  return frames
}

/**
 * The data of one frame, its lines joined as the event stream format requires; undefined for comments and frames without
 * data.
 */
export function frameData(frame: Buffer): string | undefined {
  const decoded = frame.toString('utf8')
  const text = decoded.charCodeAt(0) === BYTE_ORDER_MARK ? decoded.slice(1) : decoded
  // By far the most common form: one data line and nothing else.
  if (text.startsWith('data: ') && text.indexOf('\n') === text.length - 2) return text.slice(6, -2)
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'))
  if (lines.length === 0) return undefined
  return lines.map((line) => line.slice(line.startsWith('data: ') ? 6 : 5)).join('\n')
}

/** Whether the frame is an event named `error`, whatever its data. */
export function isErrorEvent(frame: string): boolean {
  return /(?:^|[\r\n])event: ?error[ \t]*[\r\n]/.test(frame)
}

/** Position after the last blank line; 0 if there is none. */
export function lastFrameEnd(bytes: Buffer): number {
  const { length } = bytes
  if (length >= 2 && bytes[length - 1] === LINE_FEED && bytes[length - 2] === LINE_FEED) return length
  return Math.max(
    after(bytes.lastIndexOf('\n\n'), 2),
    after(bytes.lastIndexOf('\n\r\n'), 3),
    after(bytes.lastIndexOf('\r\r'), 2),
  )
}

/** Position after the first frame at or after `from`, in text that ends at a frame end. */
export function firstFrameEnd(text: string, from: number): number {
  const feed = text.indexOf('\n\n', from)
  const end = feed < 0 ? text.length : feed + 2
  // A server uses one kind of line break, so text without carriage returns needs no further check.
  if (!text.slice(from, end).includes('\r')) return end
  const others = [after(text.indexOf('\n\r\n', from), 3), after(text.indexOf('\r\r', from), 2)]
  return Math.min(end, ...others.filter((other) => other > 0))
}

function after(position: number, length: number): number {
  return position < 0 ? 0 : position + length
}
