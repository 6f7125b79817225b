import type { TokenUsage } from '../../../catalogue/token-pricing.ts'
import type { UsageOutcome } from '../../../metering/hold.ts'
import type { MeteredRequest } from '../../../metering/metered-request.ts'
import type { RunCharge } from '../../../metering/metered-run.ts'
import { isCount, isPlausible, type MeasuredUsage, measureReported } from '../../tokens/reported-usage.ts'
import { isRecord } from '../openai-wire/completion-text.ts'
import type { ChatPlan } from '../plan/chat-plan.ts'

export interface ChatTokens extends TokenUsage {
  /** Included in the completion tokens; undefined if the provider does not report them. */
  reasoningTokens: number | undefined
}

export type MeasuredChatUsage = MeasuredUsage<ChatTokens>

interface Measurement {
  plan: ChatPlan
  metered: Pick<MeteredRequest, 'hold' | 'extend'>
  reported: unknown
  countCompletion: () => Promise<number>
}

/** The usage to charge for a chat; an empty completion is implausible if there is text. */
export async function measureUsage({
  plan,
  metered,
  reported,
  countCompletion,
}: Measurement): Promise<MeasuredChatUsage> {
  const usage = readUsage(reported)
  const { contextTokens } = plan.resolved.model
  const bounds = { promptTokensMax: contextTokens, completionTokensMax: plan.choices * contextTokens }
  const plausible = usage !== undefined && isPlausible(usage, bounds)
  const believed = plausible && (usage.completionTokens > 0 || (await countCompletion()) === 0)
  return measureReported({
    pricing: plan.resolved.pricing,
    metered,
    reported: believed ? usage : undefined,
    count: async () => countedTokens(plan, await countCompletion()),
  })
}

/** Our own count for a request that delivered this many completion tokens. */
export function estimateUsage(plan: ChatPlan, completionTokens: number): MeasuredChatUsage {
  const tokens = countedTokens(plan, completionTokens)
  return { tokens, priced: plan.resolved.pricing.price(tokens), estimated: true }
}

function countedTokens({ promptTokens }: ChatPlan, completionTokens: number): ChatTokens {
  return { promptTokens, completionTokens, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: undefined }
}

export function toCharge({ tokens, priced, estimated }: MeasuredChatUsage, outcome: UsageOutcome): RunCharge {
  const used = { tokens: tokens.promptTokens + tokens.completionTokens }
  return { lines: priced.lines, outcome, estimated, used }
}

export function usageBody({ tokens }: MeasuredChatUsage): Record<string, unknown> {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = tokens
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens, cache_creation_input_tokens: cacheWriteTokens },
    ...(reasoningTokens === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  }
}

/** Reads the forms used by the servers of OpenAI, DeepSeek and Anthropic; undefined if any number is not a count. */
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
  return {
    promptTokens: prompt,
    completionTokens: completion,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: isCount(reasoning) ? reasoning : undefined,
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}
