import { pipeline, type Writable } from 'node:stream'
import { COMPRESSED_BYTES_MIN, type ContentEncoding, compress, createCompressor } from './content-encoding.ts'
import type { Exchange } from './exchange.ts'

/** Ends the response with a complete body, compressed if the client accepts it and the size is worth it. */
export function endBody(exchange: Exchange, body: string | Buffer): void {
  const { response, encoding } = exchange
  if (encoding !== null && Buffer.byteLength(body) >= COMPRESSED_BYTES_MIN) {
    void endCompressed(exchange, { body: Buffer.from(body), encoding })
    return
  }
  exchange.writeHead()
  // Text leaves in one write with the head; bytes would need a second one.
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

/** A stream for the chunks of a body too large to buffer; open it when the first chunk is there. */
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
  // If the client disconnects, the response and its compressor close; the writer watches the response.
  compressor.on('error', () => undefined)
  pipeline(compressor, response, () => undefined)
  return compressor
}
