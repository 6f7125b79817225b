import type { ApiPromise } from '../http/api-promise.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'

export interface EmbeddingsRequest {
  model: string
  /** One text, or up to 2,048. */
  input: string | string[]
  /** `base64` encodes little-endian 32-bit floats; default `float`. */
  encoding_format?: 'float' | 'base64'
  dimensions?: number
  user?: string
  [field: string]: unknown
}

export interface EmbeddingsResult<Vector = number[]> {
  object: 'list'
  model: string
  /** One for each text, in order. */
  data: { object: 'embedding'; index: number; embedding: Vector }[]
  usage: { prompt_tokens: number; total_tokens: number }
}

export class Embeddings {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates embeddings of texts.
   *
   * @example
   * const { data } = await sluice.embeddings.create({ model: 'my-embedding', input: ['one', 'two'] })
   */
  create(
    request: EmbeddingsRequest & { encoding_format: 'base64' },
    options?: RequestOptions,
  ): ApiPromise<EmbeddingsResult<string>>
  create(request: EmbeddingsRequest, options?: RequestOptions): ApiPromise<EmbeddingsResult>
  create(body: EmbeddingsRequest, options?: RequestOptions): ApiPromise<EmbeddingsResult<number[] | string>> {
    return this.#transport.request(
      { method: 'POST', path: '/api/v1/embeddings', body, repeat: 'unsafe', options },
      (result: EmbeddingsResult<number[] | string>) => result,
    )
  }
}
