import type { Caller } from '../../caller.ts'
import type { Catalogue, ResolvedModel } from '../../catalogue/catalogue.ts'
import { assertModelAllowed } from '../../catalogue/model-privacy.ts'
import type { TokenUsage } from '../../catalogue/token-pricing.ts'
import type { Journaled } from '../../metering/answer-journal.ts'
import type { MeteredRequest } from '../../metering/metered-request.ts'
import type { MeteredRuns, RunPlan } from '../../metering/metered-runs.ts'
import type { RatePlans } from '../../rate-limits/rate-plans.ts'
import { parseInput } from '../../validation/parse-input.ts'
import { requireBody } from '../chat/plan/chat-request.ts'
import type { ProviderRouter } from '../providers/provider-router.ts'
import { readJsonAnswer } from '../providers/read-json-answer.ts'
import { type ServedBy, toServedBy } from '../providers/served-by.ts'
import { soldAs } from '../sold-as.ts'
import { isPlausible, type MeasuredUsage, measureReported } from '../tokens/reported-usage.ts'
import type { TokenCounter } from '../tokens/token-counter.ts'
import { estimateTokens } from '../tokens/token-estimate.ts'
import { type EmbeddingAnswer, readEmbeddings } from './embedding-answer.ts'
import { assertDimensions, EmbeddingRequest } from './embedding-request.ts'
import { assertInputsFit, inputTokensMax } from './input-limit.ts'

/** A hold must cover the provider's tokenizer, which differs from ours and usually adds a token or two to each text. */
const MARGIN = 1.25
const MARGIN_TOKENS_PER_INPUT = 16
/** Holds for longer inputs use an estimate, because counting megabytes exactly costs more than it gains. */
const COUNTED_CHARACTERS_MAX = 65_536

export interface Embeddings {
  /** The JSON response of `POST /embeddings`; its charge is durable. */
  body: Record<string, unknown>
  metered: MeteredRequest
  served: ServedBy
}

export interface EmbeddingServiceDeps {
  catalogue: Catalogue
  counter: TokenCounter
  router: Pick<ProviderRouter, 'send'>
  ratePlans: Pick<RatePlans, 'planForEmbedding'>
  runs: MeteredRuns
  serviceName: string
}

interface EmbeddingPlan extends RunPlan {
  resolved: ResolvedModel
  encoding: 'float' | 'base64'
  inputCount: number
  /** Our count, charged if the provider reports none. */
  tokens: number
  body: Record<string, unknown>
}

/** Text embeddings, priced by input tokens. A failed request is not charged. */
export class EmbeddingService {
  readonly #deps: EmbeddingServiceDeps

  constructor(deps: EmbeddingServiceDeps) {
    this.#deps = deps
  }

  /**
   * Fails with `invalid_request`, `model_not_found`, `model_privacy`, `context_length_exceeded` or `unavailable` before
   * money is reserved; later like `MeteredRuns.open` and `ProviderRouter.send`, and with `upstream_failed`. With a
   * journal in the context, the response is stored before it is charged.
   */
  async embed(context: Journaled<Embeddings>, body: unknown): Promise<Embeddings> {
    const { router, runs } = this.#deps
    const plan = await this.#plan(context.caller, body)
    return runs.run(context, plan, async (run) => {
      const routed = await router.send(plan.resolved.model, {
        operation: 'embeddings',
        body: { kind: 'json', value: plan.body },
        accepts: 'json',
        signal: context.signal,
      })
      run.servedBy(routed)
      const json = await readJsonAnswer(routed.response)
      const answer = readEmbeddings(json, { count: plan.inputCount, encoding: plan.encoding })
      const { tokens, priced, estimated } = await measure(plan, { metered: run.metered, reported: answer.usage })
      const embeddings: Embeddings = {
        body: embeddingsBody(plan, answer, tokens.promptTokens),
        metered: run.metered,
        served: toServedBy(plan.resolved, routed),
      }
      const used = { tokens: tokens.promptTokens }
      await run.settle({ lines: priced.lines, outcome: 'completed', estimated, used }, embeddings)
      return embeddings
    })
  }

  async #plan(caller: Caller, given: unknown): Promise<EmbeddingPlan> {
    const { catalogue, counter, ratePlans, serviceName } = this.#deps
    const input = requireBody(given)
    const resolved = catalogue.resolve(input['model'], 'embedding')
    const request = parseInput(EmbeddingRequest, input)
    assertModelAllowed(caller.modelPrivacy, resolved.model)
    assertDimensions(request, resolved.model)
    const texts = typeof request.input === 'string' ? [request.input] : request.input
    await assertInputsFit(texts, resolved.model, counter)
    const tokens = await countInputs(texts, counter)
    const overheadTokens = texts.length * (resolved.model.promptOverheadTokens ?? 0)
    const heldTokens = Math.ceil(tokens * MARGIN) + texts.length * MARGIN_TOKENS_PER_INPUT + overheadTokens
    const { model: _model, [`${serviceName}_parameters`]: _own, ...body } = request
    return {
      resolved,
      soldAs: soldAs(resolved.model, 'tokens'),
      ratePlan: ratePlans.planForEmbedding(caller, resolved.model),
      encoding: request.encoding_format ?? 'float',
      inputCount: texts.length,
      tokens: tokens + overheadTokens,
      holdNanoUsd: resolved.pricing.worstCaseNanoUsd({ promptTokens: heldTokens, completionTokens: 0 }),
      body,
    }
  }
}

async function countInputs(texts: readonly string[], counter: TokenCounter): Promise<number> {
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  if (characters <= COUNTED_CHARACTERS_MAX) return (await counter.count(texts)).tokens
  return texts.reduce((sum, text) => sum + estimateTokens(text), 0)
}

/** The provider's count if it is plausible, ours otherwise. */
function measure(
  plan: EmbeddingPlan,
  { metered, reported }: { metered: MeteredRequest; reported: unknown },
): Promise<MeasuredUsage> {
  const { model, pricing } = plan.resolved
  const bounds = { promptTokensMax: plan.inputCount * inputTokensMax(model), completionTokensMax: 0 }
  const given = typeof reported === 'object' && reported !== null && 'prompt_tokens' in reported ? reported : undefined
  const tokens = typeof given?.prompt_tokens === 'number' ? toTokens(given.prompt_tokens) : undefined
  return measureReported({
    pricing,
    metered,
    reported: tokens !== undefined && isPlausible(tokens, bounds) ? tokens : undefined,
    count: async () => toTokens(plan.tokens),
  })
}

function toTokens(promptTokens: number): TokenUsage {
  return { promptTokens, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 0 }
}

function embeddingsBody(
  { resolved }: EmbeddingPlan,
  { data }: EmbeddingAnswer,
  promptTokens: number,
): Record<string, unknown> {
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
  return { object: 'list', model: resolved.model.id, data, usage }
}
