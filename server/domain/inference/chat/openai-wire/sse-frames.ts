const EMPTY: Buffer = Buffer.alloc(0)
const LINE_FEED = 10
/** A stream may begin with one. */
const BYTE_ORDER_MARK = 0xfeff
/** A frame that grows beyond this has no end. */
const FRAME_BYTES_MAX = 8 * 1024 * 1024

/** Cuts an event stream's bytes where frames end, so that frames which arrive together leave together. */
export class FrameBuffer {
  #parts: Buffer[] = []
  #bytes = 0

  /** All frames that are complete by now, in one piece; empty while the first of them goes on. */
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

  /** Whether the frame that goes on is longer than any frame may be. */
  get overflowed(): boolean {
    return this.#bytes > FRAME_BYTES_MAX
  }

  /** What came after the last complete frame; some servers end without the last line break. */
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

  /** The last frame end in `bytes`, which may have begun in what is kept. */
  #endAcross(bytes: Buffer): number {
    const tail = this.#tail()
    return Math.max(0, lastFrameEnd(Buffer.concat([tail, bytes])) - tail.length)
  }

  /** The last two kept bytes: all that a frame end can have in common with them. */
  #tail(): Buffer {
    const last = this.#parts.at(-1) ?? EMPTY
    if (last.length >= 2) return last.subarray(-2)
    const before = this.#parts.at(-2) ?? EMPTY
    return Buffer.concat([before.subarray(-1), last])
  }
}

/** The frames of bytes that end where a frame ends. */
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

/** Number of frames in text that ends where a frame ends. */
export function countFrames(text: string): number {
  let frames = 0
  for (let start = 0; start < text.length; frames++) start = firstFrameEnd(text, start)
  return frames
}

/** The data of one frame, its lines joined as the event stream format says; undefined for comments and the like. */
export function frameData(frame: Buffer): string | undefined {
  const decoded = frame.toString('utf8')
  const text = decoded.charCodeAt(0) === BYTE_ORDER_MARK ? decoded.slice(1) : decoded
  // By far the most common form: one data line and nothing else.
  if (text.startsWith('data: ') && text.indexOf('\n') === text.length - 2) return text.slice(6, -2)
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'))
  if (lines.length === 0) return undefined
  return lines.map((line) => line.slice(line.startsWith('data: ') ? 6 : 5)).join('\n')
}

/** Whether the frame is an event of the name `error`, whatever its data looks like. */
export function isErrorEvent(frame: string): boolean {
  return /(?:^|[\r\n])event: ?error[ \t]*[\r\n]/.test(frame)
}

/** Position after the last blank line, 0 where there is none. */
export function lastFrameEnd(bytes: Buffer): number {
  const { length } = bytes
  if (length >= 2 && bytes[length - 1] === LINE_FEED && bytes[length - 2] === LINE_FEED) return length
  return Math.max(
    after(bytes.lastIndexOf('\n\n'), 2),
    after(bytes.lastIndexOf('\n\r\n'), 3),
    after(bytes.lastIndexOf('\r\r'), 2),
  )
}

/** Position after the first frame from `from` on, in text that ends where a frame ends. */
export function firstFrameEnd(text: string, from: number): number {
  const feed = text.indexOf('\n\n', from)
  const end = feed < 0 ? text.length : feed + 2
  // A server keeps to one kind of line break; without carriage returns nothing else needs a look.
  if (!text.slice(from, end).includes('\r')) return end
  const others = [after(text.indexOf('\n\r\n', from), 3), after(text.indexOf('\r\r', from), 2)]
  return Math.min(end, ...others.filter((other) => other > 0))
}

function after(position: number, length: number): number {
  return position < 0 ? 0 : position + length
}
