import type { ServerResponse } from 'node:http'
import type { Exchange } from './exchange.ts'

/** Sends chunks as they come, no faster than the client reads, and leaves the iteration when the client is gone. */
export async function writeChunks({ response, run }: Exchange, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) {
    if (!response.destroyed) {
      if (!response.write(chunk)) await drained(response)
    } else if (run === null) break
    // Under an idempotency key the rest is read all the same, for whoever repeats the request.
  }
  response.end()
}

/** Resolves when there is room again, or when nobody is left to write to. */
function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const proceed = (): void => {
      response.off('drain', proceed)
      response.off('close', proceed)
      resolve()
    }
    response.once('drain', proceed)
    response.once('close', proceed)
  })
}
