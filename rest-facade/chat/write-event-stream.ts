import type { ServerResponse } from 'node:http'
import type { Exchange } from '../exchange.ts'

/** Sends frames as they come, no faster than the client reads; leaves the iteration when the client is gone. */
export async function writeEventStream(exchange: Exchange, frames: AsyncIterable<Buffer>): Promise<void> {
  const { response } = exchange
  exchange.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
  exchange.setHeader('Cache-Control', 'no-cache')
  // Proxies such as nginx would otherwise collect the frames.
  exchange.setHeader('X-Accel-Buffering', 'no')
  response.statusCode = 200
  for await (const bytes of frames) {
    if (response.destroyed) break
    if (!response.write(bytes)) await drained(response)
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
