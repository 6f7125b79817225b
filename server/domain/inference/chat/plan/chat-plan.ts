import type { ModelPrivacy, Caller } from '../../../caller.ts'
import type { RunPlan } from '../../../metering/metered-runs.ts'
import type { RatePlans } from '../../../rate-limits/rate-plans.ts'
import type { Catalogue, ResolvedModel } from '../../../catalogue/catalogue.ts'
import { readModelName } from '../../../catalogue/model-name.ts'
import { assertModelAllowed } from '../../../catalogue/model-privacy.ts'
import { splitModelSuffix } from '../../../catalogue/model-suffix.ts'
import { soldAs } from '../../sold-as.ts'
import type { TokenCounter } from '../../tokens/token-counter.ts'
import { assertCapabilities } from './capability-gates.ts'
import { parseChatRequest, requireBody } from './chat-request.ts'
import { readCompletionLimit } from './completion-limit.ts'
import { measurePrompt } from './prompt-size.ts'
import { type ProviderBody, toProviderBody } from './provider-body.ts'
import { type ServiceParameterReader, type ServiceParameters } from './service-parameters.ts'

/** Without a limit of the caller's, the token window is charged for an ordinary answer, and corrected afterwards. */
const ORDINARY_COMPLETION_TOKENS = 1_024

/** A chat request that may run: checked, measured and priced at its worst. */
export interface ChatPlan extends RunPlan {
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
  /** What all choices together are expected to have, until it is known. */
  expectedCompletionTokens: number
}

/** A chat request that is checked, measured and priced, whoever sends it. */
export type MeasuredChat = Omit<ChatPlan, 'ratePlan'>

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
  const measured = await measureChat(caller.modelPrivacy, given, deps)
  const { resolved, promptTokens, expectedCompletionTokens } = measured
  const ratePlan = deps.ratePlans.planForText(caller, resolved.model, promptTokens + expectedCompletionTokens)
  return { ...measured, ratePlan }
}

/** The same for a caller that is known only by the models that it may use. */
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

/** Completion tokens that one choice is expected to have. */
export function expectedTokens(model: { maxCompletionTokens: number }, completionLimit: number | undefined): number {
  return completionLimit ?? Math.min(ORDINARY_COMPLETION_TOKENS, model.maxCompletionTokens)
}

/** Without a limit of the caller's a model completes up to its cap or the end of its context. */
export function uncappedTokens(
  model: { maxCompletionTokens: number; contextTokens: number },
  promptTokens: number,
): number {
  return Math.max(1, Math.min(model.maxCompletionTokens, model.contextTokens - promptTokens))
}
