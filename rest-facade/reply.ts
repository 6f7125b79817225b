import type { MeteredRequest } from '../server/domain/metering/metered-request.ts'
import type { Exchange } from './exchange.ts'
import { endBody } from './response-body.ts'
import { writeChunks } from './write-chunks.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

interface ReplyHead {
  /** Default: 200. */
  status?: number
  headers?: Readonly<Record<string, string>>
  /** The request's admission, if a service made one: its windows and balances go into the headers. */
  metered?: MeteredRequest
}

/** A response with a complete body. */
export type WholeReply<Json = unknown> = ReplyHead &
  (
    | { json: Json }
    /** JSON with a status other than 200. */
    | { status: number; json: object }
    | { content: string | Buffer; contentType: string }
    | { status: 204 }
  )

/** A response that is sent as it arrives. The chunks must be read or returned. */
export type StreamReply = ReplyHead & { chunks: AsyncIterable<Uint8Array>; contentType: string }

/** The result of a handler. */
export type Reply<Json = unknown> = WholeReply<Json> | StreamReply

export interface WholeContent {
  /** Null: no body. */
  contentType: string | null
  content: string | Buffer
}

/** Encodes the body for sending. */
export function toContent(reply: WholeReply): WholeContent {
  if ('json' in reply) return { contentType: JSON_TYPE, content: JSON.stringify(reply.json) }
  return 'content' in reply ? reply : { contentType: null, content: '' }
}

export function sendWhole(exchange: Exchange, reply: WholeReply, { contentType, content } = toContent(reply)): void {
  setHead(exchange, reply)
  if (contentType !== null) {
    exchange.setHeader('Content-Type', contentType)
    exchange.setHeader('Content-Length', Buffer.byteLength(content))
  }
  endBody(exchange, content)
}

export async function sendStream(exchange: Exchange, reply: StreamReply): Promise<void> {
  setHead(exchange, reply)
  exchange.setHeader('Content-Type', reply.contentType)
  await writeChunks(exchange, reply.chunks)
}

function setHead(exchange: Exchange, { status = 200, headers = {} }: ReplyHead): void {
  exchange.response.statusCode = status
  exchange.setHeaders(headers)
}
