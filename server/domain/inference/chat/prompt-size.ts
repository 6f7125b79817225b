import { DomainError } from '../../errors.ts'
import type { ModelDefinition } from '../model-definition.ts'
import type { TokenCounter } from '../token-counter.ts'
import type { ChatMessage } from './chat-message.ts'
import type { ProviderBody } from './provider-body.ts'

/** Tokens that a part without text counts as: what large providers charge at most for one of ordinary size. */
const PART_TOKENS: Readonly<Record<string, number>> = {
  image_url: 1_600,
  input_audio: 2_500,
  video_url: 10_000,
  file: 10_000,
}
/** Role, separators and the like. */
const MESSAGE_TOKENS = 4
/** Providers' tokenizers differ from ours; a hold must cover theirs. */
const MARGIN = 1.25
const MARGIN_TOKENS_PER_MESSAGE = 16

/** Fields that no model reads as text. */
const SETTINGS = new Set(['messages', 'stream_options', 'stop_token_ids', 'metadata', 'user', 'prompt_cache_key'])

export interface PromptSize {
  /** Our count, which stands in where the provider gives none. */
  tokens: number
  /** What the prompt has in any case. */
  atLeast: number
  /** What it may have by the provider's count. */
  heldTokens: number
}

/** Counts everything that the model gets to read: messages, tools, schemas, and unknown fields, which may be documents. */
export function measurePrompt(body: ProviderBody, counter: TokenCounter): PromptSize {
  const texts: string[] = []
  let fixed = body.messages.length * MESSAGE_TOKENS
  for (const message of body.messages) fixed += collectMessage(message, texts)
  for (const [name, value] of Object.entries(body)) {
    if (SETTINGS.has(name)) continue
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'object' && value !== null) texts.push(JSON.stringify(value))
  }
  const { tokens, atLeast } = counter.count(texts)
  return { tokens: tokens + fixed, atLeast, heldTokens: heldPromptTokens(tokens + fixed, body.messages.length) }
}

/** What a prompt of so many tokens by our count may have by the provider's. */
export function heldPromptTokens(tokens: number, messages: number): number {
  return Math.ceil(tokens * MARGIN) + messages * MARGIN_TOKENS_PER_MESSAGE
}

/** Fails with `context_length_exceeded` where the prompt and what is asked for surely do not fit. */
export function assertFitsContext(
  prompt: PromptSize,
  completionTokens: number | undefined,
  model: ModelDefinition,
): void {
  const completion = completionTokens ?? 1
  if (prompt.atLeast + completion <= model.contextTokens) return
  const asked = completionTokens === undefined ? '' : ` and ${completionTokens} tokens of completion`
  throw new DomainError(
    'context_length_exceeded',
    `This model's maximum context length is ${model.contextTokens} tokens, and the messages have about ${prompt.atLeast}${asked}. Shorten the messages or lower max_tokens.`,
    { field: 'messages' },
  )
}

/** Adds a message's texts to `texts`; returns the tokens of its other parts. */
function collectMessage({ content, role: _role, ...rest }: ChatMessage, texts: string[]): number {
  let fixed = 0
  if (typeof content === 'string') texts.push(content)
  for (const part of Array.isArray(content) ? content : []) {
    fixed += PART_TOKENS[part.type] ?? 0
    if (typeof part.text === 'string') texts.push(part.text)
    else if (PART_TOKENS[part.type] === undefined) texts.push(JSON.stringify(part))
  }
  for (const value of Object.values(rest)) {
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'object' && value !== null) texts.push(JSON.stringify(value))
  }
  return fixed
}
