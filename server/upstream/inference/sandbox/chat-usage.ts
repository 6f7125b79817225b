import type { Choice } from './chat-answer.ts'
import { type ChatRequest, textOf } from './chat-request.ts'
import type { Magic } from './magic.ts'
import type { Tokenizer } from './tokenizer.ts'

/** OpenAI's published overheads for its chat format. */
const TOKENS_PER_MESSAGE = 3
const TOKENS_PER_ANSWER = 3
const TOKENS_PER_MEDIA_PART = 85

export interface ChatUsage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number }
  completion_tokens_details: { reasoning_tokens: number }
}

/** Undefined if the prompt requests a response without usage. */
export function countUsage(
  request: ChatRequest,
  choices: Choice[],
  { magic, tokenizer }: Counting,
): ChatUsage | undefined {
  if (magic.has('usage:missing')) return undefined
  const prompt = countPrompt(request, tokenizer)
  const completion = choices.reduce((sum, choice) => sum + choice.completionTokens, 0)
  const cached = magic.has('usage:cached') ? Math.floor(prompt / 2) : 0
  const factor = magic.has('usage:negative') ? -1 : magic.has('usage:absurd') ? 1_000_000_000 : 1
  return {
    prompt_tokens: factor * prompt,
    completion_tokens: factor * completion,
    total_tokens: factor * (prompt + completion),
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: choices.reduce((sum, choice) => sum + choice.reasoningTokens, 0) },
  }
}

export interface Counting {
  magic: Magic
  tokenizer: Tokenizer
}

function countPrompt(request: ChatRequest, tokenizer: Tokenizer): number {
  let tokens = TOKENS_PER_ANSWER
  for (const message of request.messages) {
    const calls = message.tool_calls == null ? '' : JSON.stringify(message.tool_calls)
    const media = Array.isArray(message.content) ? message.content.filter((part) => part.text === undefined).length : 0
    tokens += TOKENS_PER_MESSAGE + TOKENS_PER_MEDIA_PART * media
    tokens += tokenizer.count(message.role) + tokenizer.count(textOf(message)) + tokenizer.count(calls)
  }
  return tokens + (request.tools == null ? 0 : tokenizer.count(JSON.stringify(request.tools)))
}
