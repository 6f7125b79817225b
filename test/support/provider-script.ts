import type { ProviderResponse } from '../../server/domain/inference/providers/provider.ts'
import type { RoutedRequest, RoutedResponse } from '../../server/domain/inference/providers/provider-router.ts'

type Answer = (request: RoutedRequest) => ProviderResponse | Promise<ProviderResponse>

export interface ScriptedRouter {
  /** What was sent, in order. */
  requests: RoutedRequest[]
  send(model: unknown, request: RoutedRequest): Promise<RoutedResponse>
}

/** Stands where the provider router does, and answers what a test says. */
export function scriptRouter(answer: Answer, retries = 0): ScriptedRouter {
  const requests: RoutedRequest[] = []
  return {
    requests,
    async send(_model, request) {
      requests.push(request)
      return { response: await answer(request), upstreamId: 'main', retries }
    },
  }
}

export function jsonAnswer(value: unknown): ProviderResponse {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return respond('application/json', bodyOf([Buffer.from(text)]))
}

/** An event stream whose pieces arrive one by one. */
export function streamAnswer(pieces: readonly (string | Buffer)[]): ProviderResponse {
  return respond('text/event-stream', bodyOf(pieces.map((piece) => Buffer.from(piece))))
}

/** An event stream that is still going on: it ends by the caller's abort, or by a failure that the test gives. */
export function openStreamAnswer(pieces: readonly string[], end: AbortSignal | Error): ProviderResponse {
  async function* body() {
    for (const piece of pieces) yield Buffer.from(piece)
    if (end instanceof Error) throw end
    await new Promise((_, reject) => {
      if (end.aborted) reject(new Error('aborted'))
      end.addEventListener('abort', () => reject(new Error('aborted')))
    })
  }
  return respond('text/event-stream', body())
}

function respond(contentType: string, body: AsyncIterable<Uint8Array>): ProviderResponse {
  return { status: 200, contentType, retryAfterSeconds: undefined, body }
}

async function* bodyOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}

interface ChunkOptions {
  index?: number
  finish?: string
  /** Members beside the choices. */
  rest?: object
}

/** One chunk of a provider that calls the model `upstream-m`. */
export function chunkFrame(delta: object, { index = 0, finish, rest = {} }: ChunkOptions = {}): string {
  const choice = { index, delta, finish_reason: finish ?? null }
  const head = { id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'upstream-m' }
  return `data: ${JSON.stringify({ ...head, choices: [choice], ...rest })}\n\n`
}

export function usageFrame(usage: unknown): string {
  return `data: ${JSON.stringify({ id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'upstream-m', choices: [], usage })}\n\n`
}

export const DONE = 'data: [DONE]\n\n'

/** A whole stream of one choice that says `words`. */
export function answerFrames(words: readonly string[], usage?: unknown): string[] {
  return [
    chunkFrame({ role: 'assistant', content: '' }),
    ...words.map((content) => chunkFrame({ content })),
    chunkFrame({}, { finish: 'stop' }),
    ...(usage === undefined ? [] : [usageFrame(usage)]),
    DONE,
  ]
}

/** A whole answer in JSON. */
export function completion(message: object, usage?: unknown): Record<string, unknown> {
  return {
    id: 'chatcmpl-up',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'upstream-m',
    system_fingerprint: 'fp_1',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    ...(usage === undefined ? {} : { usage }),
  }
}
