import type { MeteredRequest } from '../../server/domain/metering/metered-request.ts'
import type { StreamReply } from '../reply.ts'

export const EVENT_STREAM = 'text/event-stream'

/** A response of server-sent events, from frames that are bytes already. */
export function eventStream(
  { headers, metered }: { headers: Record<string, string>; metered: MeteredRequest },
  frames: AsyncIterable<Buffer>,
): StreamReply {
  return {
    // Proxies such as nginx would otherwise collect the frames.
    headers: { ...headers, 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' },
    metered,
    chunks: frames,
    contentType: `${EVENT_STREAM}; charset=utf-8`,
  }
}
