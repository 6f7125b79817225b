import type { UnchargedUsage, Usage, UsageOutcome } from '../../../metering/hold.ts'
import type { RoutedResponse } from '../../providers/provider-router.ts'
import type { ChatPlan } from '../plan/chat-plan.ts'
import type { MeasuredChatUsage } from './chat-usage.ts'

interface UsageFacts {
  plan: ChatPlan
  routed: RoutedResponse
  outcome: UsageOutcome
  durationMs: number
}

/** The usage row that is written with the charge. */
export function toUsage(
  { priced, estimated }: MeasuredChatUsage,
  { plan, routed, outcome, durationMs }: UsageFacts,
): Usage {
  return {
    ...soldAs(plan),
    lines: priced.lines,
    outcome,
    estimated,
    upstreamId: routed.providerId,
    retries: routed.retries,
    durationMs,
  }
}

interface FailureFacts {
  signal: AbortSignal
  /** Undefined where no provider answered. */
  routed?: RoutedResponse | undefined
  durationMs: number
}

/** A request that failed and costs nothing, for the request log. */
export function toUnchargedUsage(plan: ChatPlan, { signal, routed, durationMs }: FailureFacts): UnchargedUsage {
  return {
    ...soldAs(plan),
    outcome: signal.aborted ? 'client_disconnected' : 'upstream_failed',
    estimated: false,
    upstreamId: routed?.providerId ?? null,
    retries: routed?.retries ?? 0,
    durationMs,
  }
}

function soldAs({ resolved: { model } }: ChatPlan) {
  return { sku: model.id, modelName: model.name ?? model.id, modelType: 'LLM', unitType: 'tokens' } as const
}
