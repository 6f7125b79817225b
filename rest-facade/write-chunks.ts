import type { Writable } from 'node:stream'
import type { Exchange } from './exchange.ts'
import { endBody, openBody } from './response-body.ts'

/**
 * `false` on a response under an idempotency key that repeats cannot get; sent as a trailer if this is known only
 * midway.
 */
export const NOT_STORED_HEADER = 'Idempotent-Stored'

/** Sends chunks as they arrive, no faster than the client reads, and ends the iteration if the client disconnects. */
export async function writeChunks(exchange: Exchange, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const { response, run } = exchange
  let body: Writable | undefined
  for await (const chunk of chunks) {
    if (!response.destroyed) {
      body ??= openStored(exchange)
      if (!body.write(chunk)) await drained(body)
    } else if (run === null) break
    // Under an idempotency key the rest is read anyway, for later repeats of the request.
  }
  if (body === undefined) endEmpty(exchange)
  else if (!body.destroyed) {
    if (run?.isStored === false && exchange.hasHeader('Trailer')) response.addTrailers({ [NOT_STORED_HEADER]: 'false' })
    body.end()
  }
}

function openStored(exchange: Exchange): Writable {
  const { request, run } = exchange
  if (run?.isStored === false) exchange.setHeader(NOT_STORED_HEADER, 'false')
  // Only a chunked body has trailers.
  else if (run !== null && request.httpVersion === '1.1') exchange.setHeader('Trailer', NOT_STORED_HEADER)
  return openBody(exchange)
}

function endEmpty(exchange: Exchange): void {
  if (!exchange.response.destroyed) endBody(exchange, '')
}

/** Resolves when there is room again, or when the client has disconnected. */
function drained(body: Writable): Promise<void> {
  if (body.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const proceed = (): void => {
      body.off('drain', proceed)
      body.off('close', proceed)
      resolve()
    }
    body.once('drain', proceed)
    body.once('close', proceed)
  })
}
