import type { Receipt } from '../../../metering/hold.ts'
import { toUsdNumber } from '../../../money.ts'
import type { ProviderResponse } from '../../providers/provider.ts'
import { brokenAnswer, readJsonAnswer } from '../../providers/read-json-answer.ts'
import type { ChatPlan } from '../plan/chat-plan.ts'
import { type MeasuredChatUsage, usageBody } from '../usage/chat-usage.ts'
import { completionText, isRecord } from './completion-text.ts'
import { withoutThinking } from './thinking.ts'

/** A provider's complete response, validated only as far as clients rely on it. */
export interface ProviderCompletion {
  body: Record<string, unknown>
  choices: Record<string, unknown>[]
}

/** Fails with `upstream_failed` if the response is not a chat completion. */
export async function readCompletion(response: ProviderResponse): Promise<ProviderCompletion> {
  const body = await readJsonAnswer(response)
  const { choices } = body
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(isChoice)) {
    throw brokenAnswer("The model provider's response was not a chat completion.")
  }
  return { body, choices }
}

function isChoice(choice: unknown): choice is Record<string, unknown> {
  return isRecord(choice) && isRecord(choice['message'])
}

export function writtenText(choices: readonly Record<string, unknown>[]): string {
  return choices.map((choice) => completionText(choice['message'])).join('\n')
}

/** Adds the choice members that clients require, and removes the thinking if the caller asked for that. */
export function toChoices(choices: readonly Record<string, unknown>[], plan: ChatPlan): Record<string, unknown>[] {
  return choices.map((choice, position) => {
    const message = choice['message'] as Record<string, unknown>
    const shown = plan.parameters.stripThinking ? withoutThinking(message) : message
    return {
      ...choice,
      index: choice['index'] ?? position,
      message: { role: 'assistant', ...shown },
      logprobs: choice['logprobs'] ?? null,
      finish_reason: choice['finish_reason'] ?? 'stop',
    }
  })
}

export function costBody({ chargedNanoUsd, currency }: CompletionParts['receipt']): { usd: number; diem: number } {
  const charged = toUsdNumber(chargedNanoUsd)
  return { usd: currency === 'usd' ? charged : 0, diem: currency === 'diem' ? charged : 0 }
}

interface CompletionParts {
  plan: ChatPlan
  usage: MeasuredChatUsage
  receipt: Pick<Receipt, 'chargedNanoUsd' | 'currency'>
  /** Used if the provider omits them. */
  fallback: { id: string; createdSeconds: number }
}

export function completionBody(
  { body, choices }: ProviderCompletion,
  { plan, usage, receipt, fallback }: CompletionParts,
): Record<string, unknown> {
  // The public API never exposes the provider's fingerprint.
  const { system_fingerprint: _fingerprint, ...rest } = body
  return {
    ...rest,
    id: typeof rest['id'] === 'string' ? rest['id'] : fallback.id,
    object: 'chat.completion',
    created: typeof rest['created'] === 'number' ? rest['created'] : fallback.createdSeconds,
    model: plan.resolved.model.id,
    choices: toChoices(choices, plan),
    usage: usageBody(usage),
    cost: costBody(receipt),
    [plan.parameters.field]: plan.parameters.echo,
  }
}
