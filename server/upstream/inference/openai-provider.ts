import { type Dispatcher, Pool } from 'undici'
import type {
  InferenceProvider,
  ProviderOperation,
  ProviderRequest,
  ProviderResponse,
} from '../../domain/inference/providers/provider.ts'
import { Exchange } from './exchange.ts'
import { encodeBody } from './request-body.ts'

/** Paths of the operations in OpenAI's API. */
const PATHS: Record<ProviderOperation, string> = {
  chat: '/chat/completions',
  embeddings: '/embeddings',
  image: '/images/generations',
  imageEdit: '/images/edits',
  speech: '/audio/speech',
  transcription: '/audio/transcriptions',
}
const ACCEPTS: Record<ProviderRequest['accepts'], string> = {
  json: 'application/json',
  events: 'application/json, text/event-stream',
  binary: '*/*',
}

const DEFAULT_TIMEOUT_SECONDS = 600
const CONNECT_TIMEOUT_MS = 10_000
const MAX_CONNECTIONS = 1_024
const MAX_RESPONSE_BYTES = 268_435_456

export interface OpenAiProviderOptions {
  id: string
  /** Including the version: `https://api.example.com/v1`. */
  baseUrl: string
  apiKey?: string | undefined
  /** Limits the whole response; once a stream has started, each wait for more of it. */
  timeoutSeconds?: number | undefined
}

/**
 * Any server that speaks the OpenAI API. Redirects are never followed, because they would carry prompts and keys
 * elsewhere.
 */
export function createOpenAiProvider(options: OpenAiProviderOptions): InferenceProvider {
  const { id, baseUrl, apiKey, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS } = options
  const url = new URL(baseUrl)
  const timeoutMs = timeoutSeconds * 1_000
  // Idle connections keep undici's 4 s: common model servers drop theirs after 5 s without notice.
  const pool = new Pool(url.origin, {
    connections: MAX_CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: { timeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs) },
    maxResponseSize: MAX_RESPONSE_BYTES,
  })
  const basePath = url.pathname.replace(/\/+$/, '')
  const authorization = apiKey === undefined ? [] : ['authorization', `Bearer ${apiKey}`]

  return {
    id,
    kind: 'openai',
    async send({ operation, model, body, accepts, signal }: ProviderRequest): Promise<ProviderResponse> {
      signal.throwIfAborted()
      const encoding = encodeBody(body, model)
      const encoded = encoding instanceof Promise ? await encoding : encoding
      const request: Dispatcher.DispatchOptions = {
        method: 'POST',
        path: `${basePath}${PATHS[operation]}${url.search}`,
        headers: [...encoded.headers, 'accept', ACCEPTS[accepts], ...authorization],
        body: encoded.content,
      }
      // Awaited, because returning the promise would cost three more turns.
      return await new Exchange(signal, timeoutMs).run(pool, request)
    },
    close: () => pool.destroy(),
  }
}
