import type { Exchange } from '../exchange.ts'
import { writeChunks } from '../write-chunks.ts'

/** Sends frames as they come, no faster than the client reads; leaves the iteration when the client is gone. */
export async function writeEventStream(exchange: Exchange, frames: AsyncIterable<Buffer>): Promise<void> {
  exchange.setHeader('Content-Type', 'text/event-stream; charset=utf-8')
  exchange.setHeader('Cache-Control', 'no-cache')
  // Proxies such as nginx would otherwise collect the frames.
  exchange.setHeader('X-Accel-Buffering', 'no')
  exchange.response.statusCode = 200
  await writeChunks(exchange, frames)
}
