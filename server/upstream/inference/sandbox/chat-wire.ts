import type { Choice } from './chat-answer.ts'
import type { ChatUsage } from './chat-usage.ts'
import type { Magic } from './magic.ts'
import type { Tokenizer } from './tokenizer.ts'

/** All parts of one response. */
export interface ChatReply {
  id: string
  model: string
  createdSeconds: number
  choices: Choice[]
  usage: ChatUsage | undefined
}

export interface StreamOptions {
  includeUsage: boolean
  magic: Magic
  tokenizer: Tokenizer
}

/** One step of a stream: its bytes, or a pause before the next. */
export type StreamStep = { frame: string } | { pause: 'turns' | 'slow' }

export function toChatJson(reply: ChatReply): string {
  return JSON.stringify({
    id: reply.id,
    object: 'chat.completion',
    created: reply.createdSeconds,
    model: reply.model,
    choices: reply.choices.map((choice, index) => ({
      index,
      message: toMessage(choice),
      logprobs: null,
      finish_reason: choice.finishReason,
    })),
    usage: reply.usage,
  })
}

function toMessage({ reasoning, content, toolCalls }: Choice): object {
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }))
  return {
    role: 'assistant',
    content,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

const CHUNKS_BEFORE_FAULT = 3

/**
 * The response as server-sent events. `[[stream:cut]]` ends it after three chunks, `[[stream:garbage]]` breaks the
 * fourth.
 */
export function* toChatStream(reply: ChatReply, options: StreamOptions): Generator<StreamStep> {
  const { includeUsage, magic } = options
  let sent = 0
  for (const chunk of choiceChunks(reply, options.tokenizer)) {
    if (sent === CHUNKS_BEFORE_FAULT && magic.has('stream:cut')) return
    if (sent === CHUNKS_BEFORE_FAULT && magic.has('stream:garbage')) yield { frame: 'data: {"choices":[{"delta":\n\n' }
    if (sent > 0 && magic.has('slow')) yield { pause: 'slow' }
    yield { frame: `data: ${chunk}\n\n` }
    sent += 1
  }
  if (includeUsage && reply.usage !== undefined) {
    if (magic.has('usage:late')) yield { pause: 'turns' }
    yield { frame: `data: ${toChunk(reply, [], { usage: reply.usage })}\n\n` }
  }
  yield { frame: 'data: [DONE]\n\n' }
}

function* choiceChunks(reply: ChatReply, tokenizer: Tokenizer): Generator<string> {
  for (const [index, choice] of reply.choices.entries()) {
    for (const delta of deltas(choice, tokenizer)) {
      yield toChunk(reply, [{ index, delta, logprobs: null, finish_reason: null }])
    }
    yield toChunk(reply, [{ index, delta: {}, logprobs: null, finish_reason: choice.finishReason }])
  }
}

function* deltas({ reasoning, content, toolCalls }: Choice, tokenizer: Tokenizer): Generator<object> {
  yield { role: 'assistant', content: content === null ? null : '' }
  for (const piece of tokenizer.pieces(reasoning)) yield { reasoning_content: piece }
  for (const piece of tokenizer.pieces(content ?? '')) yield { content: piece }
  for (const [index, { id, name, arguments: args }] of toolCalls.entries()) {
    yield { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }
    for (const piece of tokenizer.pieces(args)) yield { tool_calls: [{ index, function: { arguments: piece } }] }
  }
}

function toChunk({ id, model, createdSeconds }: ChatReply, choices: object[], rest: object = {}): string {
  return JSON.stringify({ id, object: 'chat.completion.chunk', created: createdSeconds, model, choices, ...rest })
}
