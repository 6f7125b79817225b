import type { MeteredRequest } from '../../server/domain/metering/metered-request.ts'
import type { StreamReply } from '../reply.ts'

export const EVENT_STREAM = 'text/event-stream'

/** A response of server-sent events from encoded frames. */
export function eventStream(
  { headers, metered }: { headers: Record<string, string>; metered: MeteredRequest },
  frames: AsyncIterable<Buffer>,
): StreamReply {
  return {
    // Keeps proxies such as nginx from buffering the frames.
    headers: { ...headers, 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' },
    metered,
    chunks: frames,
    contentType: `${EVENT_STREAM}; charset=utf-8`,
  }
}
