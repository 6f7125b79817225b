import type { Usage, UsageOutcome } from '../../metering/hold.ts'
import type { RoutedResponse } from '../provider-router.ts'
import type { ChatPlan } from './chat-plan.ts'
import type { MeasuredUsage } from './chat-usage.ts'

interface UsageFacts {
  plan: ChatPlan
  routed: RoutedResponse
  outcome: UsageOutcome
  durationMs: number
}

/** The usage row that is written with the charge. */
export function toUsage(
  { priced, estimated }: MeasuredUsage,
  { plan, routed, outcome, durationMs }: UsageFacts,
): Usage {
  const { model } = plan.resolved
  return {
    sku: model.id,
    modelName: model.name ?? model.id,
    modelType: 'LLM',
    unitType: 'tokens',
    lines: priced.lines,
    outcome,
    estimated,
    upstreamId: routed.providerId,
    retries: routed.retries,
    durationMs,
  }
}
