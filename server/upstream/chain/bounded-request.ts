import { request } from 'undici'

export interface BoundedRequest {
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
  /** For the whole request, the response body included. */
  deadlineMs: number
}

/** Several times the largest response that is needed: 1,000 signatures with their memos. */
const RESPONSE_BYTES_MAX = 4_194_304

/**
 * One HTTP request for JSON, with a deadline and a maximum response size. Redirects are not followed. The value is
 * undefined if the response is not JSON.
 */
export async function requestJson(
  url: string,
  { method, headers, body: content, deadlineMs }: BoundedRequest,
): Promise<{ status: number; value: unknown }> {
  const { statusCode, body } = await request(url, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(content === undefined ? {} : { body: JSON.stringify(content) }),
    signal: AbortSignal.timeout(deadlineMs),
  })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > RESPONSE_BYTES_MAX) throw new Error(`the response is larger than ${RESPONSE_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return { status: statusCode, value: parse(Buffer.concat(chunks).toString('utf8')) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
