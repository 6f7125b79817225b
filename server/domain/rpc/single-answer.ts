import { DomainError } from '../errors.ts'
import { type AnswerKind, readAnswer } from './answer-reader.ts'
import { AnswerScanner } from './answer-scanner.ts'
import type { ByteRange } from './envelope-scanner.ts'
import type { NodeAnswer } from './rpc-node.ts'

/** A response up to this size is buffered and sent with its length; a larger one streams in bounded memory. */
const BUFFERED_BYTES_MAX = 262_144
/** A response without `result` or `error` up to here is invalid; the longest id that fits a request ends well before. */
const UNDECIDED_BYTES_MAX = 8_388_608

export interface StreamedAnswer {
  shape: 'stream'
  kind: AnswerKind
  head: Uint8Array[]
  rest: AsyncIterator<Uint8Array>
  scanner: AnswerScanner
}

export interface WholeAnswer {
  shape: 'whole'
  kind: AnswerKind
  bytes: Buffer
  /** Range of the raw id; null if there is none. */
  id: ByteRange | null
}

/** A node's response to one request: nothing (to a notification), bytes, or bytes that still arrive. */
export type SingleAnswer = { shape: 'empty' } | WholeAnswer | StreamedAnswer

/** Reads until the price is known; undefined if it is not a response to a single JSON-RPC request. */
export async function readSingleAnswer(
  { status, body, startStream }: NodeAnswer,
  options: { notification: boolean },
): Promise<SingleAnswer | undefined> {
  const rest = body[Symbol.asyncIterator]()
  const head: Uint8Array[] = []
  let size = 0
  while (size <= BUFFERED_BYTES_MAX) {
    const next = await rest.next()
    if (next.done === true) return wholeAnswer(joined(head), { status, ...options })
    head.push(next.value)
    size += next.value.length
  }
  const scanner = new AnswerScanner()
  for (const chunk of head) scanner.push(chunk)
  while (scanner.kind === null && scanner.state === 'open' && size <= UNDECIDED_BYTES_MAX) {
    const next = await rest.next()
    if (next.done === true) return undefined
    head.push(next.value)
    size += next.value.length
    scanner.push(next.value)
  }
  if (isSuccess(status) && scanner.kind !== null && scanner.state !== 'malformed') {
    startStream()
    return { shape: 'stream', kind: scanner.kind, head, rest, scanner }
  }
  await rest.return?.()
  return undefined
}

function wholeAnswer(
  bytes: Buffer,
  { status, notification }: { status: number; notification: boolean },
): SingleAnswer | undefined {
  if (bytes.length === 0) return notification && isSuccess(status) ? { shape: 'empty' } : undefined
  const answer = readAnswer(bytes)
  if (answer?.shape !== 'single' || answer.item.kind === null) return undefined
  const usable = isSuccess(status) || (status >= 400 && answer.item.kind === 'error')
  return usable ? { shape: 'whole', kind: answer.item.kind, bytes, id: answer.item.id } : undefined
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

export function joined(chunks: readonly Uint8Array[]): Buffer {
  const [first] = chunks
  if (chunks.length !== 1 || first === undefined) return Buffer.concat(chunks)
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength)
}

export interface StreamEnds {
  /** Aborts when the client disconnects. */
  signal: AbortSignal
  /** Stores each chunk before it is sent or charged. */
  keep: (bytes: Uint8Array) => Promise<void> | undefined
  /** Charges the announced credits; resolves when durable. */
  settle: (outcome: 'answered' | 'client_disconnected') => Promise<void>
  release: () => Promise<void>
}

/**
 * Streams a large response. The chunk that completes it is held back until the charge is durable. If the client
 * disconnects, it pays the announced price; a truncated response costs nothing and ends in `rpc_upstream_failed`, so that
 * the connection is cut. The caller must read this iterator to its end or return it.
 */
export async function* relayStream(answer: StreamedAnswer, ends: StreamEnds): AsyncGenerator<Uint8Array, void> {
  const { scanner, rest } = answer
  let ended = false
  try {
    for (const chunk of answer.head) await ends.keep(chunk)
    if (scanner.state === 'complete') await ends.settle('answered')
    yield* answer.head
    for (;;) {
      const wasOpen = scanner.state === 'open'
      const next = await rest.next()
      if (next.done === true) break
      scanner.push(next.value)
      if (scanner.state === 'malformed') break
      await ends.keep(next.value)
      if (wasOpen && scanner.state === 'complete') await ends.settle('answered')
      yield next.value
    }
    ended = true
    if (scanner.state !== 'complete') {
      await ends.release()
      throw new DomainError('rpc_upstream_failed', 'The node closed the connection during its response')
    }
  } catch (error) {
    if (!ended && !ends.signal.aborted) {
      ended = true
      await ends.release()
    }
    throw error
  } finally {
    if (!ended) await ends.settle('client_disconnected')
    await rest.return?.()
  }
}
