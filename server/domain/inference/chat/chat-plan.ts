import type { Caller } from '../../auth/caller.ts'
import type { RatePlan } from '../../rate-limits/rate-plan.ts'
import type { RatePlans } from '../../rate-limits/rate-plans.ts'
import type { Catalogue, ResolvedModel } from '../catalogue.ts'
import { readModelName } from '../model-name.ts'
import { assertModelAllowed } from '../model-privacy.ts'
import { splitModelSuffix } from '../model-suffix.ts'
import type { TokenCounter } from '../token-counter.ts'
import { assertCapabilities } from './capability-gates.ts'
import { parseChatRequest, requireBody } from './chat-request.ts'
import { readCompletionLimit } from './completion-limit.ts'
import { assertFitsContext, measurePrompt } from './prompt-size.ts'
import { type ProviderBody, toProviderBody } from './provider-body.ts'
import { type ServiceParameterReader, type ServiceParameters } from './service-parameters.ts'

/** Without a limit of the caller's, the token window is charged for an ordinary answer, and corrected afterwards. */
const ORDINARY_COMPLETION_TOKENS = 1_024

/** A chat request that may run: checked, measured and priced at its worst. */
export interface ChatPlan {
  resolved: ResolvedModel
  parameters: ServiceParameters
  stream: boolean
  body: ProviderBody
  /** Number of answers asked for. */
  choices: number
  /** Our count of the prompt, charged where the provider gives none. */
  promptTokens: number
  /** Completion tokens of all choices together that the hold pays for, whatever the prompt turns out to be. */
  heldCompletionTokens: number
  holdNanoUsd: bigint
  ratePlan: RatePlan
}

export interface ChatPlannerDeps {
  catalogue: Catalogue
  counter: TokenCounter
  parameters: ServiceParameterReader
  ratePlans: Pick<RatePlans, 'planForText'>
  /** The service's default system prompts, before the caller's. */
  systemPrompts: readonly string[]
}

/**
 * Checks a chat request against its model and the caller's key, and prices its worst case. Fails with `invalid_request`,
 * `model_not_found`, `model_privacy`, `context_length_exceeded` or `unavailable`; nothing is held or consumed yet.
 */
export async function planChat(caller: Caller, given: unknown, deps: ChatPlannerDeps): Promise<ChatPlan> {
  const { catalogue, counter } = deps
  await counter.load()
  const input = requireBody(given)
  const suffixed = splitModelSuffix(readModelName(input['model']), (id) => catalogue.find(id) !== undefined)
  const resolved = catalogue.resolve(suffixed.name, 'text')
  const { model, pricing } = resolved
  const parameters = deps.parameters.read(input, suffixed.parameters)
  const request = parseChatRequest(input)
  assertModelAllowed(caller.modelPrivacy, model)
  assertCapabilities(model, request)
  const completionLimit = readCompletionLimit(request, model)
  const body = toProviderBody(request, {
    model,
    parameters,
    completionLimit,
    systemPrompts: deps.systemPrompts,
  })
  const prompt = measurePrompt(body, counter)
  assertFitsContext(prompt, completionLimit, model)
  const choices = request.n ?? 1
  const heldCompletionTokens = choices * (completionLimit ?? openLimit(model, prompt.atLeast))
  const ordinaryTokens = choices * (completionLimit ?? Math.min(ORDINARY_COMPLETION_TOKENS, model.maxCompletionTokens))
  return {
    resolved,
    parameters,
    stream: request.stream === true,
    body,
    choices,
    promptTokens: prompt.tokens,
    heldCompletionTokens,
    holdNanoUsd: pricing.worstCaseNanoUsd({
      promptTokens: prompt.heldTokens,
      completionTokens: heldCompletionTokens,
    }),
    ratePlan: deps.ratePlans.planForText(caller, model, prompt.tokens + ordinaryTokens),
  }
}

/** Without a limit of the caller's a model completes up to its cap or the end of its context. */
function openLimit(model: { maxCompletionTokens: number; contextTokens: number }, promptTokens: number): number {
  return Math.max(1, Math.min(model.maxCompletionTokens, model.contextTokens - promptTokens))
}
