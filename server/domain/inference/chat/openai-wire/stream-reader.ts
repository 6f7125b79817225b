import { CHOICES_MAX } from '../plan/chat-request.ts'
import { toFrame } from './chunk.ts'
import { isRecord } from './completion-text.ts'
import { isFinished, splitFinish } from './finish-frames.ts'
import { type MemberRewrite, removeFingerprint, renameModel } from './member-rewrite.ts'
import { countFrames, FrameBuffer, firstFrameEnd, frameData, isErrorEvent, lastFrameEnd } from './sse-frames.ts'
import { DONE_MARK, StreamMarkerScanner } from './stream-marker-scanner.ts'
import type { ThinkingChunkFilter } from './thinking.ts'

const EMPTY: Buffer = Buffer.alloc(0)

export interface StreamPiece {
  deliver: Buffer
  /** The same part as the provider sent it, thinking included; token counts use it. */
  received: Buffer
  frames: number
}

interface StreamReaderDeps {
  modelId: string
  thinkingFilter: ThinkingChunkFilter | undefined
}

/**
 * Reads from a provider's event stream only what Sluice needs: usage, end and failure. Frames pass through as bytes; a
 * frame is parsed only if it is the first, or if one of its keys marks it as special. Finish reasons are kept back, so
 * that no response looks complete before its charge is durable.
 */
export class StreamReader {
  readonly #buffer = new FrameBuffer()
  readonly #modelId: string
  readonly #thinkingFilter: ThinkingChunkFilter | undefined
  readonly #rewrites: readonly MemberRewrite[]
  readonly #finishes: Buffer[] = []
  readonly #finishedChoices = new Set<unknown>()
  #first: Record<string, unknown> | undefined
  #usage: unknown
  #done = false
  #failure: unknown

  constructor({ modelId, thinkingFilter }: StreamReaderDeps) {
    this.#modelId = modelId
    this.#rewrites = [renameModel(modelId), removeFingerprint()]
    this.#thinkingFilter = thinkingFilter
  }

  get usage(): unknown {
    return this.#usage
  }

  get done(): boolean {
    return this.#done
  }

  get failure(): unknown {
    return this.#failure
  }

  get overflowed(): boolean {
    return this.#buffer.overflowed
  }

  get first(): Readonly<Record<string, unknown>> | undefined {
    return this.#first
  }

  get finishes(): Buffer {
    return Buffer.concat(this.#finishes)
  }

  get finishedChoices(): ReadonlySet<unknown> {
    return this.#finishedChoices
  }

  read(chunk: Uint8Array): StreamPiece {
    return this.#sort(this.#buffer.push(chunk))
  }

  /** Returns the last frame if the server ended without the blank line after it; empty if the frame is incomplete. */
  readRest(): StreamPiece {
    const rest = this.#buffer.takeRest()
    const data = frameData(rest)?.trim()
    const whole = data !== undefined && (data === DONE_MARK || parseObject(data) !== undefined)
    return this.#sort(
      whole ? Buffer.concat([Buffer.from(rest.toString('utf8').trimEnd()), Buffer.from('\n\n')]) : EMPTY,
    )
  }

  #sort(bytes: Buffer): StreamPiece {
    // One character per byte: searching such a string is several times faster than searching bytes.
    const text = bytes.toString('latin1')
    const notable = new StreamMarkerScanner(text)
    const received: Buffer[] = []
    const deliver: Buffer[] = []
    let frames = 0
    for (let start = 0; start < text.length && !this.#done && this.#failure === undefined; ) {
      const unread = this.#unreadEnd(bytes, start, notable)
      const end = unread > start ? unread : firstFrameEnd(text, start)
      const part = bytes.subarray(start, end)
      const partText = text.slice(start, end)
      const shown = unread > start ? this.#rewritten(part, partText) : this.#readFrame(part, partText)
      start = end
      if (shown === undefined) continue
      frames += countFrames(partText)
      received.push(part)
      if (shown.length > 0) deliver.push(shown)
    }
    return { deliver: joined(deliver), received: joined(received), frames }
  }

  /** End of the frames from `start` on that can pass unparsed: the first chunk is known, and they contain no marker. */
  #unreadEnd(bytes: Buffer, start: number, notable: StreamMarkerScanner): number {
    if (this.#first === undefined || this.#thinkingFilter !== undefined) return start
    const stop = notable.firstFrom(start)
    return stop === bytes.length ? stop : start + lastFrameEnd(bytes.subarray(start, stop))
  }

  /** The bytes of one frame for the client: empty if only thinking was removed, undefined if the frame is kept back. */
  #readFrame(frame: Buffer, text: string): Buffer | undefined {
    const data = frameData(frame)
    if (data === undefined) return frame
    if (data.trim() === DONE_MARK) {
      this.#done = true
      return undefined
    }
    const chunk = parseObject(data)
    if (isErrorEvent(text)) {
      this.#failure = chunk?.['error'] ?? chunk ?? data
      return undefined
    }
    // Clients fail on a frame that is not JSON.
    if (chunk === undefined) return undefined
    this.#first ??= chunk
    const { usage, error, ...rest } = chunk
    if (error !== undefined && error !== null) {
      this.#failure = error
      return undefined
    }
    const reported = usage !== undefined && usage !== null
    if (reported) this.#usage = usage
    const choices: unknown[] = Array.isArray(rest['choices']) ? rest['choices'] : []
    if (reported && choices.length === 0) return undefined
    const hasEnd = choices.some(isFinished)
    if (!reported && !hasEnd && this.#thinkingFilter === undefined) return this.#rewritten(frame, text)
    const shown = this.#thinkingFilter === undefined ? rest : this.#thinkingFilter.filter(rest)
    if (shown === undefined) return EMPTY
    const { said, finish } = splitFinish(shown)
    if (finish !== undefined) this.#keepFinish(finish)
    return said === undefined ? EMPTY : toFrame(this.#asOurs(said))
  }

  /** Keeps only one end per choice, so that a stream of ends cannot fill the memory. */
  #keepFinish(chunk: Record<string, unknown>): void {
    const ended = chunk['choices'] as { index?: unknown }[]
    if (ended.every(({ index = 0 }) => this.#finishedChoices.has(index))) return
    if (this.#finishes.length === CHOICES_MAX) return
    this.#finishes.push(toFrame(this.#asOurs(chunk)))
    for (const { index = 0 } of ended) this.#finishedChoices.add(index)
  }

  #asOurs(chunk: Record<string, unknown>): Record<string, unknown> {
    const { system_fingerprint: _fingerprint, ...shown } = chunk
    return typeof shown['model'] === 'string' ? { ...shown, model: this.#modelId } : shown
  }

  /** Rewrites frames without parsing them; `text` is `bytes` with one character per byte. */
  #rewritten(bytes: Buffer, text: string): Buffer {
    let changed = text
    for (const rewrite of this.#rewrites) changed = rewrite.apply(changed)
    return changed === text ? bytes : Buffer.from(changed, 'latin1')
  }
}

function parseObject(data: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function joined(parts: Buffer[]): Buffer {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}
