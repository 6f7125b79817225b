/** The OpenAI-compatible operation that a provider is asked for; the value is its path. */
export type ProviderOperation = '/chat/completions' | '/embeddings'

export interface ProviderRequest {
  operation: ProviderOperation
  /** Body in OpenAI's form with the provider's own model name; the service's own fields are taken out already. */
  body: Record<string, unknown>
  signal: AbortSignal
}

/** Response head and raw bytes, as an HTTP server would give them: the sandbox answers in the same form as a real server. */
export interface ProviderResponse {
  status: number
  contentType: string
  retryAfterSeconds: number | undefined
  body: AsyncIterable<Uint8Array>
}

/** A model server. `send` rejects only when no response head arrived (connection, timeout, abort). */
export interface InferenceProvider {
  readonly id: string
  readonly kind: 'openai' | 'sandbox'
  send(request: ProviderRequest): Promise<ProviderResponse>
  close(): Promise<void>
}
