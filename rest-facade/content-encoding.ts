import { promisify } from 'node:util'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip, type ZlibOptions } from 'node:zlib'
import { Negotiator } from 'negotiator'

const ENCODINGS = ['br', 'gzip'] as const
export type ContentEncoding = (typeof ENCODINGS)[number]

/** A smaller body fits into one or two packets; compressing it would only cost time. */
export const COMPRESSED_BYTES_MIN = 2_048

/** Fast rather than small, because the client waits for the response. */
const GZIP: ZlibOptions = { level: 4 }
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 3, [constants.BROTLI_PARAM_LGWIN]: 18 } }

const compressGzip = promisify<Buffer, ZlibOptions, Buffer>(gzip)
const compressBrotli = promisify<Buffer, typeof BROTLI, Buffer>(brotliCompress)

/** Best first. */
const OFFERED = [...ENCODINGS, 'identity'] as const

/** The served encoding that the client prefers; null: uncompressed. */
export function acceptedEncoding(header: string | undefined): ContentEncoding | null {
  if (header === undefined) return null
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } })
  const best = negotiator.encoding(OFFERED, { preferred: OFFERED })
  return best === undefined || best === 'identity' ? null : best
}

export function compress(bytes: Buffer, encoding: ContentEncoding): Promise<Buffer> {
  return encoding === 'br' ? compressBrotli(bytes, BROTLI) : compressGzip(bytes, GZIP)
}

export function createCompressor(encoding: ContentEncoding) {
  return encoding === 'br' ? createBrotliCompress(BROTLI) : createGzip(GZIP)
}
