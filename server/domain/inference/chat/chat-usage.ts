import type { PricedUsage, TokenUsage } from '../token-pricing.ts'
import type { ChatPlan } from './chat-plan.ts'
import { isRecord } from './completion-text.ts'

export interface ChatTokens extends TokenUsage {
  /** Part of the completion; undefined where the provider does not tell. */
  reasoningTokens: number | undefined
}

/** A request's tokens and price, and whether our count stands in for the provider's. */
export interface MeasuredUsage {
  tokens: ChatTokens
  priced: PricedUsage
  estimated: boolean
}

interface Measurement {
  plan: ChatPlan
  /** The provider's `usage` object, as it came. */
  reported: unknown
  heldNanoUsd: bigint
  countCompletion: () => number
}

/**
 * The usage that is charged: the provider's where it is sound, ours otherwise. A provider's count is not believed when it
 * is negative, fractional, empty though there is text, or more than the model can do or the hold allows.
 */
export function measureUsage({ plan, reported, heldNanoUsd, countCompletion }: Measurement): MeasuredUsage {
  const tokens = readUsage(reported)
  if (tokens !== undefined && isPlausible(tokens, plan) && (tokens.completionTokens > 0 || countCompletion() === 0)) {
    const priced = plan.resolved.pricing.price(tokens)
    if (priced.amountNanoUsd <= heldNanoUsd) return { tokens, priced, estimated: false }
  }
  return estimateUsage(plan, countCompletion())
}

/** Our own count of a request that delivered so many completion tokens. */
export function estimateUsage(plan: ChatPlan, completionTokens: number): MeasuredUsage {
  const { promptTokens } = plan
  const tokens = { promptTokens, completionTokens, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: undefined }
  return { tokens, priced: plan.resolved.pricing.price(tokens), estimated: true }
}

/** `usage` on the wire. */
export function usageBody({ tokens }: MeasuredUsage): Record<string, unknown> {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = tokens
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens, cache_creation_input_tokens: cacheWriteTokens },
    ...(reasoningTokens === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  }
}

/** The forms that OpenAI, DeepSeek and Anthropic's own servers use; undefined where any number is no count. */
function readUsage(reported: unknown): ChatTokens | undefined {
  if (!isRecord(reported)) return undefined
  const promptDetails = recordOf(reported['prompt_tokens_details'])
  const completionDetails = recordOf(reported['completion_tokens_details'])
  const prompt = reported['prompt_tokens']
  const completion = reported['completion_tokens']
  const cached = promptDetails['cached_tokens'] ?? reported['prompt_cache_hit_tokens'] ?? 0
  const written = promptDetails['cache_creation_input_tokens'] ?? reported['cache_creation_input_tokens'] ?? 0
  const reasoning = completionDetails['reasoning_tokens'] ?? undefined
  if (!isCount(prompt) || !isCount(completion) || !isCount(cached) || !isCount(written)) return undefined
  if (cached + written > prompt) return undefined
  return {
    promptTokens: prompt,
    completionTokens: completion,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: isCount(reasoning) ? reasoning : undefined,
  }
}

/** Bounds that hold even where tokens are free. */
function isPlausible({ promptTokens, completionTokens }: ChatTokens, plan: ChatPlan): boolean {
  const { contextTokens } = plan.resolved.model
  if (promptTokens < 1 || promptTokens > Math.max(contextTokens, 4 * plan.promptTokens)) return false
  return completionTokens <= Math.max(plan.choices * contextTokens, plan.heldCompletionTokens)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}
