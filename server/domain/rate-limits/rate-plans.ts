import type { AccountTier, Caller } from '../auth/caller.ts'
import type { ModelTier, ModelType } from '../inference/model-definition.ts'
import type { LimitTable, TierLimits } from './limit-table.ts'
import type { RatePlan } from './rate-plan.ts'
import type { WindowCharge } from './window-store.ts'

const MINUTE = { windowSeconds: 60, buckets: 61 }
/** One bucket a minute: a rolling day in steps that a caller does not notice. */
const DAY = { windowSeconds: 86_400, buckets: 1_441 }

/** Kinds of models that are limited in requests alone. */
type RequestLimitedKind = 'image' | 'audio' | 'embedding' | 'videoQueue' | 'videoRetrieve'

const REQUEST_LIMIT_OF_TYPE: Record<Exclude<ModelType, 'text'>, RequestLimitedKind> = {
  image: 'image',
  upscale: 'image',
  inpaint: 'image',
  embedding: 'embedding',
  tts: 'audio',
  asr: 'audio',
  music: 'videoQueue',
  video: 'videoQueue',
}

export interface CurrentLimit {
  apiModelId: string
  rateLimits: { type: 'RPM' | 'TPM'; amount: number }[]
}

/** Which windows a request consumes from: one per account, and per model where a model is named. */
export class RatePlans {
  readonly #limits: LimitTable

  constructor(limits: LimitTable) {
    this.#limits = limits
  }

  /** Requests and tokens per minute of the model's tier. An estimate above the whole limit runs alone in an empty window. */
  planForText(caller: Caller, model: { id: string; tier: ModelTier }, tokensEstimate: number): RatePlan {
    const { requestsPerMinute, tokensPerMinute } = this.#of(caller.tier).text[model.tier]
    return {
      ...this.#perModel(caller, model.id, requestsPerMinute),
      tierName: model.tier,
      tokens: {
        ...MINUTE,
        key: `${caller.accountId}:${model.id}:tokens`,
        limit: tokensPerMinute,
        weight: Math.min(Math.ceil(Math.max(0, tokensEstimate)), tokensPerMinute),
      },
    }
  }

  /** Requests per minute of one embedding model. */
  planForEmbedding(caller: Caller, model: { id: string }): RatePlan {
    return this.planForRequests(caller, model, 'embedding')
  }

  /** Requests per minute of one model of the other kinds. */
  planForRequests(caller: Caller, model: { id: string }, kind: RequestLimitedKind): RatePlan {
    const plan = this.#perModel(caller, model.id, this.#of(caller.tier)[kind].requestsPerMinute)
    // Polling for a video must not use up the calls that queue one.
    return kind === 'videoRetrieve'
      ? { ...plan, requests: { ...plan.requests, key: `${plan.requests.key}:retrieve` } }
      : plan
  }

  /** Requests per minute over all networks, and RPC credits in any 24 hours. A batch is one request. */
  planForRpc(caller: Caller, network: string, credits: number): RatePlan {
    const { requestsPerMinute, creditsPer24Hours } = this.#of(caller.tier).rpc
    return {
      ...planOf(caller, `endpoint:api/v1/crypto/rpc/${network}`),
      requests: oneRequest(`${caller.accountId}:rpc:requests`, requestsPerMinute),
      credits: { ...DAY, key: `${caller.accountId}:rpc:credits`, limit: creditsPer24Hours, weight: credits },
    }
  }

  /** Key creations per minute of the account. */
  planForKeyCreation(caller: Caller): RatePlan {
    return {
      ...planOf(caller, 'endpoint:api/v1/api_keys'),
      requests: oneRequest(`${caller.accountId}:api-keys:creations`, this.#limits.keys.creationsPerMinute),
    }
  }

  /** Requests per minute over all management routes of the account. */
  planForManagement(caller: Caller): RatePlan {
    return {
      ...planOf(caller, 'endpoint:api/v1'),
      scope: 'global',
      requests: oneRequest(`${caller.accountId}:management:requests`, this.#limits.management.requestsPerMinute),
    }
  }

  /** The numbers that the plans above use, as `GET /api_keys/rate_limits` lists them. */
  currentLimits(
    caller: { tier: AccountTier },
    models: readonly { id: string; type: ModelType; tier: ModelTier }[],
  ): CurrentLimit[] {
    const limits = this.#of(caller.tier)
    return models.map((model) => ({ apiModelId: model.id, rateLimits: amountsOf(limits, model) }))
  }

  #of(tier: AccountTier): TierLimits {
    return this.#limits[tier]
  }

  #perModel(caller: Caller, modelId: string, requestsPerMinute: number): RatePlan {
    return {
      ...planOf(caller, modelId),
      requests: oneRequest(`${caller.accountId}:${modelId}:requests`, requestsPerMinute),
    }
  }
}

function planOf(caller: Caller, subject: string): Omit<RatePlan, 'requests'> {
  return {
    scope: 'user',
    accountId: caller.accountId,
    apiKeyId: caller.keyId,
    subject,
    tierName: caller.tier,
    tokens: null,
    credits: null,
  }
}

function oneRequest(key: string, limit: number): WindowCharge {
  return { ...MINUTE, key, limit, weight: 1 }
}

function amountsOf(limits: TierLimits, model: { type: ModelType; tier: ModelTier }): CurrentLimit['rateLimits'] {
  if (model.type !== 'text') {
    return [{ type: 'RPM', amount: limits[REQUEST_LIMIT_OF_TYPE[model.type]].requestsPerMinute }]
  }
  const { requestsPerMinute, tokensPerMinute } = limits.text[model.tier]
  return [
    { type: 'RPM', amount: requestsPerMinute },
    { type: 'TPM', amount: tokensPerMinute },
  ]
}
