import type { Writable } from 'node:stream'
import type { Exchange } from './exchange.ts'
import { endBody, openBody } from './response-body.ts'

/** Sends chunks as they come, no faster than the client reads, and leaves the iteration when the client is gone. */
export async function writeChunks(exchange: Exchange, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const { response, run } = exchange
  let body: Writable | undefined
  for await (const chunk of chunks) {
    if (!response.destroyed) {
      body ??= openBody(exchange)
      if (!body.write(chunk)) await drained(body)
    } else if (run === null) break
    // Under an idempotency key the rest is read all the same, for whoever repeats the request.
  }
  if (body === undefined) endEmpty(exchange)
  else if (!body.destroyed) body.end()
}

function endEmpty(exchange: Exchange): void {
  if (!exchange.response.destroyed) endBody(exchange, '')
}

/** Resolves when there is room again, or when nobody is left to write to. */
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
