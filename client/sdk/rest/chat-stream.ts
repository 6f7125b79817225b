import { ConnectionError, SluiceError } from '../errors.ts'
import { isRecord, toApiError } from '../http/error-body.ts'
import { readChunks, readEventStream } from '../http/event-stream.ts'
import { type Cost, type ResponseInfo, readCost } from '../http/response-info.ts'
import type { OpenAnswer } from '../http/transport.ts'
import type { ChatCompletionChunk, TokenUsage } from './chat-types.ts'

const END = '[DONE]'

/**
 * The chunks of one response, which can be read only once. If you leave the loop, the connection is closed, and only
 * the delivered part is charged. A failure during the stream throws the ApiError of its kind; a broken connection
 * throws a ConnectionError.
 *
 * @example
 * const stream = await sluice.chat.completions.create({ ...request, stream: true })
 * for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
 * console.log(stream.cost?.usd)
 */
export class ChatStream implements AsyncIterable<ChatCompletionChunk> {
  /** Information from the response headers, which do not contain the cost. */
  readonly response: ResponseInfo
  readonly #open: OpenAnswer
  #started = false
  #cost: Cost | null = null
  #usage: TokenUsage | null = null

  constructor(open: OpenAnswer, response: ResponseInfo) {
    this.#open = open
    this.response = response
  }

  /** Cost of the response; null until the last chunk. */
  get cost(): Cost | null {
    return this.#cost
  }

  /** Tokens of prompt and completion; null until the last chunk. */
  get usage(): TokenUsage | null {
    return this.#usage
  }

  /** Closes the connection; a loop over the stream then throws an AbortedError. */
  abort(): void {
    this.#open.attempt.cancel()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChatCompletionChunk, void> {
    if (this.#started) throw new SluiceError('A stream can be read only once; keep its chunks to read them again')
    this.#started = true
    const { attempt } = this.#open
    try {
      for await (const data of readEventStream(this.#bytes())) {
        attempt.signal.throwIfAborted()
        if (data === END) return
        yield this.#toChunk(data)
      }
      throw new ConnectionError('The connection ended during the stream')
    } catch (thrown) {
      throw attempt.toError(thrown)
    } finally {
      attempt.cancel()
    }
  }

  async *#bytes(): AsyncGenerator<Uint8Array, void> {
    const { attempt, response } = this.#open
    if (response.body === null) return
    for await (const chunk of readChunks(response.body)) {
      attempt.arm()
      yield chunk
    }
  }

  #toChunk(data: string): ChatCompletionChunk {
    const chunk: unknown = JSON.parse(data)
    if (isRecord(chunk) && chunk['error'] !== undefined) throw toApiError(chunk, this.response.status, this.response)
    const known = chunk as ChatCompletionChunk
    this.#cost = readCost(known) ?? this.#cost
    this.#usage = known.usage ?? this.#usage
    return known
  }
}
