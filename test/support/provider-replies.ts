/** What the fake model server says: prebuilt once, so that a benchmark measures the gateway and not this server. */
const WORDS = ['Hello', ' wörld', ' 🌍', ' 你好', ',', ' this', ' is', ' a', ' fixed', ' answer']
export const CONTENT_CHUNKS: readonly string[] = Array.from(
  { length: 20 },
  (_, index) => WORDS[index % WORDS.length] ?? '',
)
export const CONTENT = CONTENT_CHUNKS.join('')
export const USAGE = { prompt_tokens: 12, completion_tokens: 20, total_tokens: 32 }

const HEAD = { id: 'chatcmpl-0123456789abcdef0123456789abcdef', created: 1_700_000_000, model: 'fake-model' }

export type Usage = Record<string, unknown>

export function chatJson(
  message: object = { role: 'assistant', content: CONTENT },
  usage: Usage | null = USAGE,
): string {
  const finishReason = 'tool_calls' in message ? 'tool_calls' : 'stop'
  return JSON.stringify({
    ...HEAD,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finishReason, logprobs: null }],
    ...(usage === null ? {} : { usage }),
  })
}

function chunk(choices: object[], rest: object = {}): string {
  return `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', choices, ...rest })}\n\n`
}

export function deltaFrame(delta: object, finishReason: string | null = null): string {
  return chunk([{ index: 0, delta, finish_reason: finishReason, logprobs: null }])
}

export function usageFrame(usage: Usage): string {
  return chunk([], { usage })
}

export const DONE_FRAME = 'data: [DONE]\n\n'

/** Role, deltas, finish, usage (null: none), `[DONE]`: with the 20 default deltas these are 23 events and the end mark. */
export function streamFrames(
  deltas: object[] = CONTENT_CHUNKS.map((content) => ({ content })),
  usage: Usage | null = USAGE,
): string[] {
  const finish = deltas.some((delta) => 'tool_calls' in delta) ? 'tool_calls' : 'stop'
  return [
    deltaFrame({ role: 'assistant', content: '' }),
    ...deltas.map((delta) => deltaFrame(delta)),
    deltaFrame({}, finish),
    ...(usage === null ? [] : [usageFrame(usage)]),
    DONE_FRAME,
  ]
}

export const TOOL_CALL = {
  id: 'call_fake',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
}

export const TOOL_CALL_DELTAS: object[] = [
  { tool_calls: [{ index: 0, id: TOOL_CALL.id, type: 'function', function: { name: 'get_weather', arguments: '' } }] },
  { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
  { tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] },
]

export const REASONING_DELTAS: object[] = [
  { reasoning_content: 'Let me ' },
  { reasoning_content: 'think.' },
  ...CONTENT_CHUNKS.map((content) => ({ content })),
]

interface EmbeddingsInput {
  count: number
  dimensions: number
  base64: boolean
}

export function embeddingsJson({ count, dimensions, base64 }: EmbeddingsInput): string {
  const vector = Float32Array.from({ length: dimensions }, (_, index) => (index % 2 === 0 ? 0.5 : -0.25))
  const embedding = base64 ? Buffer.from(vector.buffer).toString('base64') : [...vector]
  const data = Array.from({ length: count }, (_, index) => ({ object: 'embedding', index, embedding }))
  const usage = { prompt_tokens: 4 * count, total_tokens: 4 * count }
  return JSON.stringify({ object: 'list', model: HEAD.model, data, usage })
}

export const MODELS_JSON = JSON.stringify({
  object: 'list',
  data: [{ id: 'fake-model', object: 'model', created: HEAD.created, owned_by: 'fake' }],
})
