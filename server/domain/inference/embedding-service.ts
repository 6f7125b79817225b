import type { Caller, RequestContext } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { UnchargedUsage } from '../metering/hold.ts'
import type { MeteredRequest, Metering } from '../metering/metered-request.ts'
import type { RatePlans } from '../rate-limits/rate-plans.ts'
import { parseInput } from '../validation.ts'
import type { Catalogue, ResolvedModel } from './catalogue.ts'
import { requireBody } from './chat/chat-request.ts'
import { type EmbeddingAnswer, readEmbeddings } from './embeddings/embedding-answer.ts'
import { assertDimensions, EmbeddingRequest } from './embeddings/embedding-request.ts'
import { assertInputsFit } from './embeddings/input-limit.ts'
import type { ModelDefinition } from './model-definition.ts'
import { assertModelAllowed } from './model-privacy.ts'
import type { ProviderRouter, RoutedResponse } from './provider-router.ts'
import { readJsonAnswer } from './read-json-answer.ts'
import type { ServedBy } from './served-by.ts'
import type { TokenCounter } from './token-counter.ts'
import type { PricedUsage } from './token-pricing.ts'

/** Providers' tokenizers differ from ours, and most add a token or two to each text; a hold must cover theirs. */
const MARGIN = 1.25
const MARGIN_TOKENS_PER_INPUT = 16

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
  /** Our count, charged where the provider gives none. */
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
   * anything is held; then with what `Metering.open` and `ProviderRouter.send` fail with, and `upstream_failed`.
   */
  async embed(context: RequestContext, body: unknown): Promise<Embeddings> {
    const { metering, router, ratePlans, clock } = this.#deps
    const plan = await this.#plan(context.caller, body)
    const { model } = plan.resolved
    const startedAtMs = clock.nowMs()
    const ratePlan = ratePlans.planForEmbedding(context.caller, model)
    const metered = await metering.open({ context, plan: ratePlan, holdNanoUsd: plan.holdNanoUsd })
    try {
      const routed = await router.send(model, { operation: '/embeddings', body: plan.body, signal: context.signal })
      const json = await readJsonAnswer(routed.response)
      const answer = readEmbeddings(json, { count: plan.inputCount, encoding: plan.encoding })
      const tokens = await this.#settle(metered, { plan, answer, routed, durationMs: clock.nowMs() - startedAtMs })
      return {
        body: {
          object: 'list',
          model: model.id,
          data: answer.data,
          usage: { prompt_tokens: tokens, total_tokens: tokens },
        },
        metered,
        served: {
          model,
          deprecation: plan.resolved.deprecation,
          providerId: routed.providerId,
          retries: routed.retries,
        },
      }
    } catch (error) {
      await this.#release(context, metered, {
        ...soldAs(model),
        outcome: context.signal.aborted ? 'client_disconnected' : 'upstream_failed',
        estimated: false,
        upstreamId: null,
        retries: 0,
        durationMs: clock.nowMs() - startedAtMs,
      })
      if (!context.signal.aborted) throw error
      throw new DomainError('unavailable', 'The client closed the request before its answer began')
    }
  }

  async #plan(caller: Caller, given: unknown): Promise<EmbeddingPlan> {
    const { catalogue, counter, serviceName } = this.#deps
    await counter.load()
    const input = requireBody(given)
    const resolved = catalogue.resolve(input['model'], 'embedding')
    const request = parseInput(EmbeddingRequest, input)
    assertModelAllowed(caller.modelPrivacy, resolved.model)
    assertDimensions(request, resolved.model)
    const texts = typeof request.input === 'string' ? [request.input] : request.input
    assertInputsFit(texts, resolved.model, counter)
    const { tokens } = counter.count(texts)
    const heldTokens = Math.ceil(tokens * MARGIN) + texts.length * MARGIN_TOKENS_PER_INPUT
    const { model: _model, [`${serviceName}_parameters`]: _own, ...body } = request
    return {
      resolved,
      encoding: request.encoding_format ?? 'float',
      inputCount: texts.length,
      tokens,
      holdNanoUsd: resolved.pricing.worstCaseNanoUsd({ promptTokens: heldTokens, completionTokens: 0 }),
      body,
    }
  }

  /** Returns the tokens that were charged, once that is durable. */
  async #settle(
    metered: MeteredRequest,
    facts: { plan: EmbeddingPlan; answer: EmbeddingAnswer; routed: RoutedResponse; durationMs: number },
  ): Promise<number> {
    const { plan, routed, durationMs } = facts
    const { model } = plan.resolved
    const { tokens, priced, estimated } = measure(plan, facts.answer.usage)
    await metered.settle(
      {
        ...soldAs(model),
        lines: priced.lines,
        outcome: 'completed',
        estimated,
        upstreamId: routed.providerId,
        retries: routed.retries,
        durationMs,
      },
      { tokens },
    )
    return tokens
  }

  async #release({ requestId }: RequestContext, metered: MeteredRequest, usage: UnchargedUsage): Promise<void> {
    try {
      await metered.release(usage)
    } catch (error) {
      // The sweeper frees what could not be freed now; the caller needs to hear of the first failure.
      this.#deps.log.error('hold could not be released', { requestId, error })
    }
  }
}

function soldAs(model: ModelDefinition) {
  return { sku: model.id, modelName: model.name ?? model.id, modelType: 'LLM', unitType: 'tokens' } as const
}

interface MeasuredInput {
  tokens: number
  priced: PricedUsage
  estimated: boolean
}

/** The provider's count where it is one that the hold allows, ours otherwise. */
function measure(plan: EmbeddingPlan, usage: unknown): MeasuredInput {
  const reported = typeof usage === 'object' && usage !== null && 'prompt_tokens' in usage ? usage.prompt_tokens : 0
  if (typeof reported === 'number' && Number.isSafeInteger(reported) && reported > 0) {
    const priced = priceInput(plan, reported)
    const bound = 4 * plan.tokens + plan.inputCount * MARGIN_TOKENS_PER_INPUT
    if (priced.amountNanoUsd <= plan.holdNanoUsd && reported <= bound)
      return { tokens: reported, priced, estimated: false }
  }
  return { tokens: plan.tokens, priced: priceInput(plan, plan.tokens), estimated: true }
}

function priceInput({ resolved }: EmbeddingPlan, promptTokens: number): PricedUsage {
  return resolved.pricing.price({ promptTokens, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 0 })
}
