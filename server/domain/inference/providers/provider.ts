/** What a model server can be asked for; where that is on the wire is the provider's own matter. */
export const PROVIDER_OPERATIONS = ['chat', 'embeddings', 'image', 'imageEdit', 'speech', 'transcription'] as const
export type ProviderOperation = (typeof PROVIDER_OPERATIONS)[number]

export interface ProviderFile {
  /** Of the field. */
  name: string
  fileName: string
  contentType: string
  bytes: Uint8Array<ArrayBuffer>
}

/** In OpenAI's form without `model`; the service's own fields are taken out already. */
export type ProviderRequestBody =
  | { kind: 'json'; value: Readonly<Record<string, unknown>> }
  | { kind: 'multipart'; fields: readonly (readonly [name: string, value: string])[]; files: readonly ProviderFile[] }
  | { kind: 'binary'; contentType: string; bytes: Uint8Array }

/** JSON; events of a stream, in place of which a server may respond with plain JSON; or an image, audio or video. */
export type ProviderResponseKind = 'json' | 'events' | 'binary'

export interface ProviderRequest {
  operation: ProviderOperation
  /** The provider's own name of the model. */
  model: string
  body: ProviderRequestBody
  accepts: ProviderResponseKind
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
