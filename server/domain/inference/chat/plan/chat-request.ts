import { z } from 'zod'
import { DomainError } from '../../../errors.ts'
import { boundedList } from '../../../validation/bounded-list.ts'
import { parseInput } from '../../../validation/parse-input.ts'
import { ChatMessage } from './chat-message.ts'

/** OpenAI's limit; the hold covers every choice. */
export const CHOICES_MAX = 128

/** OpenAI's limit; validating each message and tool takes time. */
const MESSAGES_MAX = 2_048
const TOOLS_MAX = 512
const STOP_TOKENS_MAX = 4_096

const between = (min: number, max: number) => z.number().min(min).max(max).nullish()
const wholeNumber = z.number().refine(Number.isSafeInteger, { error: 'must be a whole number' }).nullish()

const Tool = z.looseObject({
  type: z.string().nullish(),
  function: z.looseObject({ name: z.string().min(1) }).nullish(),
})

/**
 * Body of `POST /chat/completions`, as liberal as OpenAI's: null means absent, and unknown fields and enum values pass to
 * the provider.
 */
export const ChatRequest = z.looseObject({
  model: z.unknown(),
  messages: z.array(z.unknown()).min(1).pipe(boundedList(ChatMessage, MESSAGES_MAX)),
  frequency_penalty: between(-2, 2),
  presence_penalty: between(-2, 2),
  repetition_penalty: z.number().min(0).nullish(),
  temperature: between(0, 2),
  min_temp: between(0, 2),
  max_temp: between(0, 2),
  top_p: between(0, 1),
  min_p: between(0, 1),
  top_k: z.int().min(0).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).nullish(),
  max_tokens: wholeNumber,
  max_completion_tokens: wholeNumber,
  n: z.int().min(1).max(CHOICES_MAX).nullish(),
  seed: z.number().refine(Number.isInteger, { error: 'must be a whole number' }).nullish(),
  stop: z
    .union([z.string(), z.array(z.string()).min(1).max(4)], { error: 'must be a string or a list of 1 to 4 strings' })
    .nullish(),
  stop_token_ids: boundedList(z.int(), STOP_TOKENS_MAX).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), enabled: z.boolean().nullish() }).nullish(),
  reasoning_effort: z.string().nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  tools: boundedList(Tool, TOOLS_MAX).nullish(),
  tool_choice: z.union([z.string(), z.looseObject({})], { error: 'must be a string or an object' }).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
  web_search: z.boolean().nullish(),
  fallbacks: z
    .array(z.looseObject({ model: z.string().min(1) }))
    .max(10)
    .nullish(),
})
export type ChatRequest = z.output<typeof ChatRequest>

/** Field names of similar APIs, and the field that each one means. */
const ALIASES: Readonly<Record<string, string>> = {
  input: 'messages',
  max_output_tokens: 'max_tokens',
  promptCacheKey: 'prompt_cache_key',
}

/** Fails with `invalid_request` unless the body is a JSON object. */
export function requireBody(body: unknown): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>
  throw new DomainError('invalid_request', 'Invalid request parameters: the body must be a JSON object')
}

export function parseChatRequest(body: Record<string, unknown>): ChatRequest {
  return parseInput(ChatRequest, withoutAliases(body))
}

function withoutAliases(body: Record<string, unknown>): Record<string, unknown> {
  const used = Object.keys(ALIASES).filter((alias) => body[alias] !== undefined)
  if (used.length === 0) return body
  const renamed = { ...body }
  for (const alias of used) {
    const field = ALIASES[alias] ?? alias
    const value = renamed[alias]
    renamed[field] ??= alias === 'input' && typeof value === 'string' ? [{ role: 'user', content: value }] : value
    delete renamed[alias]
  }
  return renamed
}
