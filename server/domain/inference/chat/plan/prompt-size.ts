import type { ModelDefinition } from '../../../catalogue/model-definition.ts'
import { DomainError } from '../../../errors.ts'
import type { TokenCount } from '../../tokens/exact-token-count.ts'
import type { TokenCounter } from '../../tokens/token-counter.ts'
import type { ChatMessage } from './chat-message.ts'
import type { ProviderBody } from './provider-body.ts'

/** Tokens counted for a part without text: the most that large providers charge for one of ordinary size. */
const PART_TOKENS: Readonly<Record<string, number>> = {
  image_url: 1_600,
  input_audio: 2_500,
  video_url: 10_000,
  file: 10_000,
}
/** Covers the role and the separators of a message. */
const MESSAGE_TOKENS = 4
/** A hold must cover the provider's tokenizer, which differs from ours. */
const MARGIN = 1.25
const MARGIN_TOKENS_PER_MESSAGE = 16

const SETTINGS = new Set(['messages', 'stream_options', 'stop_token_ids', 'metadata', 'user', 'prompt_cache_key'])

export interface PromptSize {
  /** Our count, which is charged if the provider reports none. */
  tokens: number
  /** Tokens of the messages' contents, which every model reads. */
  contentTokens: number
  /** Upper bound of the provider's count. */
  heldTokens: number
}

type SizedModel = Pick<ModelDefinition, 'contextTokens' | 'promptOverheadTokens' | 'imageTokens'>

/**
 * Counts everything that the model may read: messages, tools, schemas and unknown fields, which may contain documents.
 * Fails with `context_length_exceeded` if the message contents and the requested completion together exceed the model's
 * context.
 */
export async function measurePrompt(
  body: ProviderBody,
  {
    model,
    completionLimit,
    counter,
  }: { model: SizedModel; completionLimit: number | undefined; counter: TokenCounter },
): Promise<PromptSize> {
  const contents: string[] = []
  const others: string[] = []
  let fixed = body.messages.length * MESSAGE_TOKENS
  for (const message of body.messages) fixed += collectMessage(message, { model, contents, others })
  for (const [name, value] of Object.entries(body)) if (!SETTINGS.has(name)) collectValue(value, others)
  const content = await counter.count(contents, model.contextTokens - (completionLimit ?? 1))
  assertFitsContext(content, completionLimit, model)
  const other = others.length === 0 ? 0 : (await counter.count(others, model.contextTokens)).tokens
  const tokens = content.tokens + other + fixed
  return {
    tokens: tokens + (model.promptOverheadTokens ?? 0),
    contentTokens: content.atLeast,
    heldTokens: heldPromptTokens(tokens, body.messages.length, model),
  }
}

/** Upper bound of the provider's count for a prompt with this many tokens by our count. */
export function heldPromptTokens(
  tokens: number,
  messages: number,
  { promptOverheadTokens = 0 }: Pick<ModelDefinition, 'promptOverheadTokens'>,
): number {
  return Math.ceil(tokens * MARGIN) + messages * MARGIN_TOKENS_PER_MESSAGE + promptOverheadTokens
}

/** Fails with `context_length_exceeded` if the prompt and the requested completion exceed the context. */
export function assertFitsContext(
  { tokens, atLeast }: TokenCount,
  completionTokens: number | undefined,
  model: Pick<ModelDefinition, 'contextTokens'>,
): void {
  if (atLeast + (completionTokens ?? 1) <= model.contextTokens) return
  const count = atLeast === tokens ? `${tokens}` : `at least ${atLeast}`
  const asked = completionTokens === undefined ? '' : `, and ${completionTokens} completion tokens are requested`
  throw new DomainError(
    'context_length_exceeded',
    `This model's maximum context length is ${model.contextTokens} tokens, but the messages have ${count}${asked}. Shorten the messages or lower max_tokens.`,
    { field: 'messages' },
  )
}

interface Collection {
  model: SizedModel
  contents: string[]
  /** Texts that a model may read in another form or ignore. */
  others: string[]
}

/** Collects a message's texts and returns the tokens of its other parts. */
function collectMessage(
  { content, role: _role, ...rest }: ChatMessage,
  { model, contents, others }: Collection,
): number {
  let fixed = 0
  if (typeof content === 'string') contents.push(content)
  for (const part of Array.isArray(content) ? content : []) {
    const isImage = part.type === 'image_url'
    const partTokens = (isImage ? model.imageTokens : undefined) ?? PART_TOKENS[part.type]
    fixed += partTokens ?? 0
    if (typeof part.text === 'string') contents.push(part.text)
    else if (partTokens === undefined) others.push(JSON.stringify(part))
  }
  for (const value of Object.values(rest)) collectValue(value, others)
  return fixed
}

function collectValue(value: unknown, texts: string[]): void {
  if (typeof value === 'string') texts.push(value)
  else if (typeof value === 'object' && value !== null) texts.push(JSON.stringify(value))
}
