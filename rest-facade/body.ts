import type { IncomingMessage } from 'node:http'
import type { BodyReader } from '../server/domain/bodies/body-reader.ts'
import { DomainError } from '../server/domain/errors.ts'
import { bodyTooLarge, decodeBody } from './content-decoding.ts'
import { isMultipart, readMultipart } from './multipart.ts'
import type { Route } from './route.ts'

const EMPTY = Buffer.alloc(0)
const JOINED_AS_THEY_COME_BYTES_MIN = 1024 * 1024
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

const TYPES_OF_KIND = {
  json: "'application/json'",
  multipart: "'multipart/form-data'",
  'json-or-multipart': "'application/json' or 'multipart/form-data'",
}

export interface ReadBody {
  /** The bytes by which two requests are compared. */
  raw: Buffer
  /** Undefined if the route reads raw bytes or no body. */
  parsed: unknown
}

/** Reads, decompresses and parses the body that a route declares; idempotency compares its bytes. */
export async function readRequestBody(
  request: IncomingMessage,
  declared: Route['body'],
  bodies: Pick<BodyReader, 'readJson'>,
): Promise<ReadBody> {
  if (declared === undefined) return { raw: EMPTY, parsed: undefined }
  const received = await readBytes(request, declared.limitBytes)
  const raw = await decodeBody(received, request.headers['content-encoding'], declared.limitBytes)
  if (declared.kind === 'raw') return { raw, parsed: undefined }
  if (raw.length === 0) return { raw, parsed: undefined }
  const contentType = request.headers['content-type'] ?? ''
  if (declared.kind !== 'json' && isMultipart(contentType)) return readMultipart(raw, contentType, declared.form)
  if (declared.kind !== 'multipart' && JSON_TYPE.test(contentType)) return bodies.readJson(raw)
  throw new DomainError('unsupported_media_type', `'Content-Type' must be ${TYPES_OF_KIND[declared.kind]}`)
}

function cutOff(): DomainError {
  return new DomainError('invalid_request', 'The request ended before its body was complete')
}

function readBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) return Promise.reject(bodyTooLarge(limitBytes))
  // A client may disconnect while its payment settles; its body would then never end.
  if (request.destroyed) return Promise.reject(cutOff())
  return new Promise((resolve, reject) => {
    const chunks = new BodyChunks(Number(request.headers['content-length'] ?? 0))
    request.on('data', (chunk: Buffer) => {
      if (chunks.bytes + chunk.length > limitBytes) {
        request.pause()
        reject(bodyTooLarge(limitBytes))
        return
      }
      chunks.push(chunk)
    })
    request.once('end', () => resolve(chunks.join()))
    request.once('error', reject)
    request.once('close', () => {
      if (!request.complete) reject(cutOff())
    })
  })
}

/**
 * Joins the chunks of a body as they arrive if its length is known: joining 35 MB at the end would take 30 ms at once.
 */
class BodyChunks {
  readonly #whole: Buffer | undefined
  readonly #chunks: Buffer[] = []
  bytes = 0

  constructor(announcedBytes: number) {
    // Pages that are never written take no memory.
    if (announcedBytes > JOINED_AS_THEY_COME_BYTES_MIN) this.#whole = Buffer.alloc(announcedBytes)
  }

  push(chunk: Buffer): void {
    if (this.#whole === undefined) this.#chunks.push(chunk)
    else chunk.copy(this.#whole, this.bytes)
    this.bytes += chunk.length
  }

  join(): Buffer {
    if (this.#whole !== undefined) return this.#whole
    const [first] = this.#chunks
    return this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks)
  }
}
