import { promisify } from 'node:util'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip, type ZlibOptions } from 'node:zlib'

const ENCODINGS = ['br', 'gzip'] as const
export type ContentEncoding = (typeof ENCODINGS)[number]

/** Less than this is one or two packets on any network; compressing it would only cost time. */
export const COMPRESSED_BYTES_MIN = 2_048

/** Fast rather than small: answers are made while the client waits. */
const GZIP: ZlibOptions = { level: 4 }
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 3, [constants.BROTLI_PARAM_LGWIN]: 18 } }

const compressGzip = promisify<Buffer, ZlibOptions, Buffer>(gzip)
const compressBrotli = promisify<Buffer, typeof BROTLI, Buffer>(brotliCompress)

/** The encoding that the client likes best of those served here; null: the bytes as they are. */
export function acceptedEncoding(header: string | undefined): ContentEncoding | null {
  if (header === undefined) return null
  const weights = new Map(header.split(',').map(readWeight))
  const any = weights.get('*') ?? 0
  let best: ContentEncoding | null = null
  let bestWeight = Math.max(0, weights.get('identity') ?? 0)
  for (const encoding of ENCODINGS) {
    const weight = weights.get(encoding) ?? any
    const wins = best === null ? weight > 0 && weight >= bestWeight : weight > bestWeight
    if (!wins) continue
    best = encoding
    bestWeight = weight
  }
  return best
}

/** One element of the header, such as `gzip;q=0.5`. */
function readWeight(element: string): [string, number] {
  const [name = '', ...parameters] = element.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const value = weight === undefined ? 1 : Number(weight.slice(2))
  return [name, Number.isFinite(value) ? value : 0]
}

export function compress(bytes: Buffer, encoding: ContentEncoding): Promise<Buffer> {
  return encoding === 'br' ? compressBrotli(bytes, BROTLI) : compressGzip(bytes, GZIP)
}

export function createCompressor(encoding: ContentEncoding) {
  return encoding === 'br' ? createBrotliCompress(BROTLI) : createGzip(GZIP)
}
