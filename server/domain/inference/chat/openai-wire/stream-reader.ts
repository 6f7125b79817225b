import { CHOICES_MAX } from '../plan/chat-request.ts'
import { toFrame } from './chunk.ts'
import { isRecord } from './completion-text.ts'
import { isFinished, splitFinish } from './finish-frames.ts'
import { type MemberRewrite, removeFingerprint, renameModel } from './member-rewrite.ts'
import { StreamMarkerScanner, DONE_MARK } from './stream-marker-scanner.ts'
import { countFrames, firstFrameEnd, FrameBuffer, frameData, isErrorEvent, lastFrameEnd } from './sse-frames.ts'
import type { ThinkingChunkFilter } from './thinking.ts'

const EMPTY: Buffer = Buffer.alloc(0)

/** What a piece of a provider's stream holds. */
export interface StreamPiece {
  /** Bytes for the client. */
  deliver: Buffer
  /** The same as the provider sent them, thoughts included: what is counted. */
  received: Buffer
  frames: number
}

interface StreamReaderDeps {
  /** Our id of the model, which clients see in every chunk. */
  modelId: string
  /** Takes thoughts out where the caller asked for that. */
  thinkingFilter: ThinkingChunkFilter | undefined
}

/**
 * Reads a provider's event stream for as much as the platform must know: its usage, its end, its failure. Frames pass as
 * bytes; one is parsed only if it is the first, or if a key in it says that it is not ordinary. The ends of choices are
 * kept back, since nothing may look complete before its charge is durable.
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

  /** The provider's last `usage`, as it came. */
  get usage(): unknown {
    return this.#usage
  }

  /** Whether `[DONE]` came. */
  get done(): boolean {
    return this.#done
  }

  /** The `error` that the provider put into its stream. */
  get failure(): unknown {
    return this.#failure
  }

  /** Whether a frame grew beyond all measure. */
  get overflowed(): boolean {
    return this.#buffer.overflowed
  }

  /** The first chunk, parsed. */
  get first(): Readonly<Record<string, unknown>> | undefined {
    return this.#first
  }

  /** The frames that end choices. */
  get finishes(): Buffer {
    return Buffer.concat(this.#finishes)
  }

  /** Positions of the choices that have ended. */
  get finishedChoices(): ReadonlySet<unknown> {
    return this.#finishedChoices
  }

  read(chunk: Uint8Array): StreamPiece {
    return this.#sort(this.#buffer.push(chunk))
  }

  /** The last frame of a server that ended without the blank line after it; nothing where it broke off inside. */
  readRest(): StreamPiece {
    const rest = this.#buffer.takeRest()
    const data = frameData(rest)?.trim()
    const whole = data !== undefined && (data === DONE_MARK || parseObject(data) !== undefined)
    return this.#sort(
      whole ? Buffer.concat([Buffer.from(rest.toString('utf8').trimEnd()), Buffer.from('\n\n')]) : EMPTY,
    )
  }

  #sort(bytes: Buffer): StreamPiece {
    // One character per byte: searching such text is several times faster than searching the bytes.
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

  /** Where the frames from `start` on end that pass unread: the first chunk is known, and nothing in them is notable. */
  #unreadEnd(bytes: Buffer, start: number, notable: StreamMarkerScanner): number {
    if (this.#first === undefined || this.#thinkingFilter !== undefined) return start
    const stop = notable.firstFrom(start)
    return stop === bytes.length ? stop : start + lastFrameEnd(bytes.subarray(start, stop))
  }

  /** What the client gets of one frame: empty where thoughts are taken out, undefined where we keep the frame to ourselves. */
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
    // Clients fail on what is no JSON.
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

  /** A choice ends once; a stream of nothing but ends must not fill the memory. */
  #keepFinish(chunk: Record<string, unknown>): void {
    const ended = chunk['choices'] as { index?: unknown }[]
    if (ended.every(({ index = 0 }) => this.#finishedChoices.has(index))) return
    if (this.#finishes.length === CHOICES_MAX) return
    this.#finishes.push(toFrame(this.#asOurs(chunk)))
    for (const { index = 0 } of ended) this.#finishedChoices.add(index)
  }

  /** A parsed chunk as clients get it. */
  #asOurs(chunk: Record<string, unknown>): Record<string, unknown> {
    const { system_fingerprint: _fingerprint, ...shown } = chunk
    return typeof shown['model'] === 'string' ? { ...shown, model: this.#modelId } : shown
  }

  /** Frames that pass unparsed; `text` is `bytes`, one character per byte. */
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
