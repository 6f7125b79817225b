import type { Caller, ModelPrivacy } from '../../../caller.ts'
import type { Catalogue, ResolvedModel } from '../../../catalogue/catalogue.ts'
import { readModelName } from '../../../catalogue/model-name.ts'
import { assertModelAllowed } from '../../../catalogue/model-privacy.ts'
import { splitModelSuffix } from '../../../catalogue/model-suffix.ts'
import type { RunPlan } from '../../../metering/metered-runs.ts'
import type { RatePlans } from '../../../rate-limits/rate-plans.ts'
import { soldAs } from '../../sold-as.ts'
import type { TokenCounter } from '../../tokens/token-counter.ts'
import { assertCapabilities } from './capability-gates.ts'
import { parseChatRequest, requireBody } from './chat-request.ts'
import { readCompletionLimit } from './completion-limit.ts'
import { measurePrompt } from './prompt-size.ts'
import { type ProviderBody, toProviderBody } from './provider-body.ts'
import { type ServiceParameterReader, type ServiceParameters } from './service-parameters.ts'

/** Completion tokens counted against the rate limit if the caller sets no limit; corrected after the response. */
const ORDINARY_COMPLETION_TOKENS = 1_024

/** A validated chat request with its token counts and worst-case price. */
export interface ChatPlan extends RunPlan {
  resolved: ResolvedModel
  parameters: ServiceParameters
  stream: boolean
  body: ProviderBody
  choices: number
  /** Our count of the prompt, charged if the provider reports none. */
  promptTokens: number
  /** Completion tokens of all choices together that the hold covers, however long the prompt turns out to be. */
  heldCompletionTokens: number
  /** Expected completion tokens of all choices together, used until the actual number is known. */
  expectedCompletionTokens: number
}

/** A validated and priced chat request that does not depend on the caller. */
export type MeasuredChat = Omit<ChatPlan, 'ratePlan'>

export interface ChatPlannerDeps {
  catalogue: Catalogue
  counter: TokenCounter
  parameters: ServiceParameterReader
  ratePlans: Pick<RatePlans, 'planForText'>
  /** The service's default system prompts, placed before the caller's. */
  systemPrompts: readonly string[]
}

/**
 * Validates a chat request against its model and the caller's key, and computes its worst-case price. Fails with
 * `invalid_request`, `model_not_found`, `model_privacy`, `context_length_exceeded` or `unavailable`. Nothing is reserved
 * or counted yet.
 */
export async function planChat(caller: Caller, given: unknown, deps: ChatPlannerDeps): Promise<ChatPlan> {
  const measured = await measureChat(caller.modelPrivacy, given, deps)
  const { resolved, promptTokens, expectedCompletionTokens } = measured
  const ratePlan = deps.ratePlans.planForText(caller, resolved.model, promptTokens + expectedCompletionTokens)
  return { ...measured, ratePlan }
}

/** Like `planChat`, for a caller of whom only the permitted models are known. */
export async function measureChat(
  modelPrivacy: ModelPrivacy,
  given: unknown,
  deps: Omit<ChatPlannerDeps, 'ratePlans'>,
): Promise<MeasuredChat> {
  const { catalogue, counter } = deps
  const input = requireBody(given)
  const suffixed = splitModelSuffix(readModelName(input['model']), (id) => catalogue.find(id) !== undefined)
  const resolved = catalogue.resolve(suffixed.name, 'text')
  const { model, pricing } = resolved
  const parameters = deps.parameters.read(input, suffixed.parameters)
  const request = parseChatRequest(input)
  assertModelAllowed(modelPrivacy, model)
  assertCapabilities(model, request)
  const completionLimit = readCompletionLimit(request, model)
  const body = toProviderBody(request, {
    model,
    parameters,
    completionLimit,
    systemPrompts: deps.systemPrompts,
  })
  const prompt = await measurePrompt(body, { model, completionLimit, counter })
  const choices = request.n ?? 1
  const heldCompletionTokens = choices * (completionLimit ?? uncappedTokens(model, prompt.contentTokens))
  return {
    resolved,
    soldAs: soldAs(model, 'tokens'),
    parameters,
    stream: request.stream === true,
    body,
    choices,
    promptTokens: prompt.tokens,
    heldCompletionTokens,
    expectedCompletionTokens: choices * expectedTokens(model, completionLimit),
    holdNanoUsd: pricing.worstCaseNanoUsd({
      promptTokens: prompt.heldTokens,
      completionTokens: heldCompletionTokens,
    }),
  }
}

export function expectedTokens(model: { maxCompletionTokens: number }, completionLimit: number | undefined): number {
  return completionLimit ?? Math.min(ORDINARY_COMPLETION_TOKENS, model.maxCompletionTokens)
}

/** If the caller sets no limit, a model completes up to its own limit or the end of its context. */
export function uncappedTokens(
  model: { maxCompletionTokens: number; contextTokens: number },
  promptTokens: number,
): number {
  return Math.max(1, Math.min(model.maxCompletionTokens, model.contextTokens - promptTokens))
}
