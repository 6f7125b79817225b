import { type ApiPromise, toApiPromise } from '../http/api-promise.ts'
import type { ApiRequest, Transport } from '../http/transport.ts'
import type { IdempotentRequestOptions, RequestOptions } from '../options.ts'
import { ChatStream } from './chat-stream.ts'
import type { ChatCompletion, ChatCompletionRequest } from './chat-types.ts'

export class ChatCompletions {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a chat completion. Without streaming, it is executed and charged only once, however often it is retried. A
   * stream is retried only before its first data.
   *
   * @example
   * const completion = await sluice.chat.completions.create({
   *   model: 'default',
   *   messages: [{ role: 'user', content: 'Hello' }],
   * })
   * console.log(completion.choices[0]?.message.content)
   */
  create(
    request: ChatCompletionRequest & { stream?: false | null },
    options?: IdempotentRequestOptions,
  ): ApiPromise<ChatCompletion>
  create(request: ChatCompletionRequest & { stream: true }, options?: RequestOptions): ApiPromise<ChatStream>
  create(
    request: ChatCompletionRequest,
    options?: IdempotentRequestOptions,
  ): ApiPromise<ChatCompletion> | ApiPromise<ChatStream>
  create(
    body: ChatCompletionRequest,
    options?: IdempotentRequestOptions,
  ): ApiPromise<ChatCompletion> | ApiPromise<ChatStream> {
    const request = { method: 'POST', path: '/api/v1/chat/completions', body, options } as const
    if (body.stream === true) return this.#stream({ ...request, repeat: 'unsafe' })
    return this.#transport.request({ ...request, repeat: 'keyed' }, (completion: ChatCompletion) => completion)
  }

  #stream(request: ApiRequest): ApiPromise<ChatStream> {
    const answer = this.#transport.open(request, async (open) => {
      const response = this.#transport.describe(open)
      return { data: new ChatStream(open, response), response }
    })
    return toApiPromise(answer)
  }
}

export class Chat {
  readonly completions: ChatCompletions

  constructor(transport: Transport) {
    this.completions = new ChatCompletions(transport)
  }
}
