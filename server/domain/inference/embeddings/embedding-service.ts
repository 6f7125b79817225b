import type { Caller, RequestContext } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { Journaled } from '../../idempotency/answer-journal.ts'
import type { Log } from '../../log.ts'
import type { UnchargedUsage, Usage } from '../../metering/hold.ts'
import type { MeteredRequest, Metering } from '../../metering/metered-request.ts'
import type { RatePlans } from '../../rate-limits/rate-plans.ts'
import { parseInput } from '../../validation/parse-input.ts'
import type { Catalogue, ResolvedModel } from '../../catalogue/catalogue.ts'
import { requireBody } from '../chat/plan/chat-request.ts'
import { type EmbeddingAnswer, readEmbeddings } from './embedding-answer.ts'
import { assertDimensions, EmbeddingRequest } from './embedding-request.ts'
import { assertInputsFit, inputTokensMax } from './input-limit.ts'
import type { ModelDefinition } from '../../catalogue/model-definition.ts'
import { assertModelAllowed } from '../../catalogue/model-privacy.ts'
import type { ProviderRouter, RoutedResponse } from '../providers/provider-router.ts'
import { readJsonAnswer } from '../providers/read-json-answer.ts'
import { isPlausible, type MeasuredUsage, measureReported } from '../tokens/reported-usage.ts'
import type { ServedBy } from '../providers/served-by.ts'
import type { TokenCounter } from '../tokens/token-counter.ts'
import { estimateTokens } from '../tokens/token-estimate.ts'
import type { TokenUsage } from '../../catalogue/token-pricing.ts'

/** Providers' tokenizers differ from ours, and most add a token or two to each text; a hold must cover theirs. */
const MARGIN = 1.25
const MARGIN_TOKENS_PER_INPUT = 16
/** Longer inputs are held by an estimate: an exact count of megabytes costs more than it gives. */
const COUNTED_CHARACTERS_MAX = 65_536

export interface Embeddings {
  /** The JSON answer of `POST /embeddings`; its charge is durable. */
  body: Record<string, unknown>
  metered: MeteredRequest
  served: ServedBy
}

export interface EmbeddingServiceDeps {
  catalogue: Catalogue
  counter: TokenCounter
  router: Pick<ProviderRouter, 'send'>
  ratePlans: Pick<RatePlans, 'planForEmbedding'>
  metering: Metering
  serviceName: string
  clock: Clock
  log: Log
}

interface EmbeddingPlan {
  resolved: ResolvedModel
  encoding: 'float' | 'base64'
  inputCount: number
  /** Our count, charged if the provider gives none. */
  tokens: number
  holdNanoUsd: bigint
  body: Record<string, unknown>
}

/** Text embeddings, priced by input tokens. A request that fails is charged nothing. */
export class EmbeddingService {
  readonly #deps: EmbeddingServiceDeps

  constructor(deps: EmbeddingServiceDeps) {
    this.#deps = deps
  }

  /**
   * Fails with `invalid_request`, `model_not_found`, `model_privacy`, `context_length_exceeded` or `unavailable` before
   * anything is held; then with what `Metering.open` and `ProviderRouter.send` fail with, and `upstream_failed`. With a
   * journal in the context, the response is kept before it is charged.
   */
  async embed(context: Journaled<Embeddings>, body: unknown): Promise<Embeddings> {
    const { metering, router, ratePlans, clock } = this.#deps
    const plan = await this.#plan(context.caller, body)
    const { model } = plan.resolved
    const startedAtMs = clock.nowMs()
    const durationMs = (): number => clock.nowMs() - startedAtMs
    const ratePlan = ratePlans.planForEmbedding(context.caller, model)
    const metered = await metering.open({ context, plan: ratePlan, holdNanoUsd: plan.holdNanoUsd })
    try {
      const routed = await router.send(model, { operation: '/embeddings', body: plan.body, signal: context.signal })
      const json = await readJsonAnswer(routed.response)
      const answer = readEmbeddings(json, { count: plan.inputCount, encoding: plan.encoding })
      const measured = await measure(plan, { metered, reported: answer.usage })
      const embeddings = toEmbeddings({ plan, answer, routed, metered, measured })
      const usage = toUsage({ plan, routed, measured, durationMs: durationMs() })
      await context.journal?.answered(embeddings, usage)
      await metered.settle(usage, { tokens: measured.tokens.promptTokens })
      return embeddings
    } catch (error) {
      // If the response may be kept under a key, a repeat can still have to pay for it under this id.
      const kept = context.journal !== undefined
      await this.#release(context, metered, kept ? undefined : toUncharged(model, context, durationMs()))
      if (!context.signal.aborted) throw error
      throw new DomainError('unavailable', 'The client closed the request before its answer began')
    }
  }

  async #plan(caller: Caller, given: unknown): Promise<EmbeddingPlan> {
    const { catalogue, counter, serviceName } = this.#deps
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
      encoding: request.encoding_format ?? 'float',
      inputCount: texts.length,
      tokens: tokens + overheadTokens,
      holdNanoUsd: resolved.pricing.worstCaseNanoUsd({ promptTokens: heldTokens, completionTokens: 0 }),
      body,
    }
  }

  async #release({ requestId }: RequestContext, metered: MeteredRequest, usage?: UnchargedUsage): Promise<void> {
    try {
      await metered.release(usage)
    } catch (error) {
      // The sweeper frees what could not be freed now; the caller needs to hear of the first failure.
      this.#deps.log.error('hold could not be released', { requestId, error })
    }
  }
}

async function countInputs(texts: readonly string[], counter: TokenCounter): Promise<number> {
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  if (characters <= COUNTED_CHARACTERS_MAX) return (await counter.count(texts)).tokens
  return texts.reduce((sum, text) => sum + estimateTokens(text), 0)
}

/** The provider's count if it is one that the model can have read, ours otherwise. */
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

interface Measured {
  plan: EmbeddingPlan
  routed: RoutedResponse
  measured: MeasuredUsage
}

function toEmbeddings({
  plan,
  answer,
  routed,
  metered,
  measured,
}: Measured & { answer: EmbeddingAnswer; metered: MeteredRequest }): Embeddings {
  const { model, deprecation } = plan.resolved
  const { promptTokens } = measured.tokens
  return {
    body: {
      object: 'list',
      model: model.id,
      data: answer.data,
      usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    },
    metered,
    served: { model, deprecation, providerId: routed.providerId, retries: routed.retries },
  }
}

function toUsage({ plan, routed, measured, durationMs }: Measured & { durationMs: number }): Usage {
  return {
    ...soldAs(plan.resolved.model),
    lines: measured.priced.lines,
    outcome: 'completed',
    estimated: measured.estimated,
    upstreamId: routed.providerId,
    retries: routed.retries,
    durationMs,
  }
}

function toUncharged(model: ModelDefinition, { signal }: RequestContext, durationMs: number): UnchargedUsage {
  return {
    ...soldAs(model),
    outcome: signal.aborted ? 'client_disconnected' : 'upstream_failed',
    estimated: false,
    upstreamId: null,
    retries: 0,
    durationMs,
  }
}

function soldAs(model: ModelDefinition) {
  return { sku: model.id, modelName: model.name ?? model.id, modelType: 'LLM', unitType: 'tokens' } as const
}
