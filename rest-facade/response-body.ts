import { pipeline, type Writable } from 'node:stream'
import { COMPRESSED_BYTES_MIN, type ContentEncoding, compress, createCompressor } from './content-encoding.ts'
import type { Exchange } from './exchange.ts'

/** Ends the response with a whole body, compressed where the client asks for it and it is worth it. */
export function endBody(exchange: Exchange, body: string | Buffer): void {
  const { response, encoding } = exchange
  if (encoding !== null && Buffer.byteLength(body) >= COMPRESSED_BYTES_MIN) {
    void endCompressed(exchange, { body: Buffer.from(body), encoding })
    return
  }
  exchange.writeHead()
  // Text leaves in one write with the head; bytes would be a second piece.
  response.end(body)
}

async function endCompressed(
  exchange: Exchange,
  { body, encoding }: { body: Buffer; encoding: ContentEncoding },
): Promise<void> {
  const { response } = exchange
  try {
    const compressed = await compress(body, encoding)
    exchange.setHeader('Content-Encoding', encoding)
    exchange.setHeader('Content-Length', compressed.length)
    exchange.writeHead()
    response.end(compressed)
  } catch {
    response.destroy()
  }
}

/** Where the chunks of a body go that is too large to be held; to be opened when the first one is there. */
export function openBody(exchange: Exchange): Writable {
  const { response, encoding } = exchange
  if (encoding === null) {
    exchange.writeHead()
    return response
  }
  exchange.setHeader('Content-Encoding', encoding)
  exchange.removeHeader('Content-Length')
  exchange.writeHead()
  const compressor = createCompressor(encoding)
  // A client that leaves closes the response and with it the compressor; the writer sees the response.
  compressor.on('error', () => undefined)
  pipeline(compressor, response, () => undefined)
  return compressor
}
