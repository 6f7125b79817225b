/** Operations of a model server; each provider maps them to its own endpoints. */
export const PROVIDER_OPERATIONS = ['chat', 'embeddings', 'image', 'imageEdit', 'speech', 'transcription'] as const
export type ProviderOperation = (typeof PROVIDER_OPERATIONS)[number]

export interface ProviderFile {
  name: string
  fileName: string
  contentType: string
  bytes: Uint8Array<ArrayBuffer>
}

/** In OpenAI's form without `model`; the service's own fields are already removed. */
export type ProviderRequestBody =
  | { kind: 'json'; value: Readonly<Record<string, unknown>> }
  | { kind: 'multipart'; fields: readonly (readonly [name: string, value: string])[]; files: readonly ProviderFile[] }
  | { kind: 'binary'; contentType: string; bytes: Uint8Array }

/** JSON; stream events, for which a server may send plain JSON instead; or an image, audio or video. */
export type ProviderResponseKind = 'json' | 'events' | 'binary'

export interface ProviderRequest {
  operation: ProviderOperation
  /** The provider's name of the model. */
  model: string
  body: ProviderRequestBody
  accepts: ProviderResponseKind
  signal: AbortSignal
}

/** Status, headers and raw bytes as from an HTTP server; the sandbox uses the same form. */
export interface ProviderResponse {
  status: number
  contentType: string
  retryAfterSeconds: number | undefined
  body: AsyncIterable<Uint8Array>
}

/** A model server. `send` rejects only if no response headers arrived (connection, timeout, abort). */
export interface InferenceProvider {
  readonly id: string
  readonly kind: 'openai' | 'sandbox'
  send(request: ProviderRequest): Promise<ProviderResponse>
  close(): Promise<void>
}
