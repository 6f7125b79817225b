import type { ProviderResponse } from '../../../domain/inference/providers/provider.ts'

export function jsonResponse(status: number, body: string, retryAfterSeconds?: number): ProviderResponse {
  return { status, contentType: 'application/json', retryAfterSeconds, body: once(body) }
}

/** An error body in OpenAI's form. */
export function errorResponse(status: number, message: string, code: string | null = null): ProviderResponse {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const retryAfterSeconds = status === 429 || status === 503 ? RETRY_AFTER_SECONDS : undefined
  return jsonResponse(status, JSON.stringify({ error: { message, type, param: null, code } }), retryAfterSeconds)
}

const RETRY_AFTER_SECONDS = 2

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
