import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib'
import { DomainError } from '../server/domain/errors.ts'

type Decompress = (bytes: Buffer, options: ZlibOptions) => Promise<Buffer>

const DECODERS: ReadonlyMap<string, Decompress> = new Map([
  ['gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)],
  ['x-gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)],
  ['deflate', promisify<Buffer, ZlibOptions, Buffer>(inflate)],
  ['br', promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress)],
])

/** Decompresses a request body outside the event loop, to at most `limitBytes`. */
export async function decodeBody(raw: Buffer, encoding: string | undefined, limitBytes: number): Promise<Buffer> {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return raw
  const decompress = DECODERS.get(encoding.toLowerCase())
  if (decompress === undefined) {
    throw new DomainError(
      'unsupported_media_type',
      `The Content-Encoding ${encoding.slice(0, 32)} is not supported; use gzip, deflate or br, or send the body uncompressed`,
    )
  }
  try {
    return await decompress(raw, { maxOutputLength: limitBytes })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw bodyTooLarge(limitBytes)
    throw new DomainError('invalid_request', `The request body is not valid ${encoding.toLowerCase()} data`)
  }
}

export function bodyTooLarge(limitBytes: number): DomainError {
  return new DomainError(
    'payload_too_large',
    `The request body is larger than this route's maximum of ${limitBytes} bytes; send less in one request`,
  )
}
