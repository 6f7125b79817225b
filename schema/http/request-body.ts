import type { IncomingMessage } from 'node:http'

/** How much of a rejected body is discarded before its connection is cut. */
const DISCARDED_BYTES_MAX = 10 * 1024 * 1024

export type RequestBody = { kind: 'whole'; bytes: Buffer } | { kind: 'too_large' } | { kind: 'cut_off' }

/**
 * Reads a body into memory, up to a limit. The excess is read and discarded: closing midway would take the response
 * from a client that is still sending, and leaving it unread would block the connection for the next request.
 */
export function readRequestBody(request: IncomingMessage, bytesMax: number): Promise<RequestBody> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= bytesMax) {
        chunks.push(chunk)
        return
      }
      chunks = []
      resolve({ kind: 'too_large' })
      if (bytes > bytesMax + DISCARDED_BYTES_MAX) request.destroy()
    })
    request.once('end', () => resolve({ kind: 'whole', bytes: Buffer.concat(chunks) }))
    request.once('error', () => resolve({ kind: 'cut_off' }))
    request.once('close', () => resolve({ kind: 'cut_off' }))
  })
}
