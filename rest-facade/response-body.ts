import type { ServerResponse } from 'node:http'
import { pipeline, type Writable } from 'node:stream'
import { COMPRESSED_BYTES_MIN, type ContentEncoding, compress, createCompressor } from './content-encoding.ts'
import type { Exchange } from './exchange.ts'

/** Ends the response with a whole body, compressed where the client asks for it and it is worth it. */
export function endBody({ response, encoding }: Exchange, body: Buffer): void {
  if (encoding === null || body.length < COMPRESSED_BYTES_MIN) response.end(body)
  else void endCompressed(response, { body, encoding })
}

async function endCompressed(
  response: ServerResponse,
  { body, encoding }: { body: Buffer; encoding: ContentEncoding },
): Promise<void> {
  try {
    const compressed = await compress(body, encoding)
    response.setHeader('Content-Encoding', encoding)
    response.setHeader('Content-Length', compressed.length)
    response.end(compressed)
  } catch {
    response.destroy()
  }
}

/** Where the chunks of a body go that is too large to be held; to be opened when the first one is there. */
export function openBody({ response, encoding }: Exchange): Writable {
  if (encoding === null) return response
  response.setHeader('Content-Encoding', encoding)
  response.removeHeader('Content-Length')
  const compressor = createCompressor(encoding)
  // A client that leaves closes the response and with it the compressor; the writer sees the response.
  compressor.on('error', () => undefined)
  pipeline(compressor, response, () => undefined)
  return compressor
}
