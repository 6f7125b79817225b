import type { Caller } from '../caller.ts'
import type { ModelTier, ModelType } from '../catalogue/model-definition.ts'
import { withOverrides } from '../limit-overrides.ts'
import type { LimitTable, TierLimits } from './limit-table.ts'
import type { RatePlan } from './rate-plan.ts'
import type { WindowCharge } from './window-store.ts'

const MINUTE = { windowSeconds: 60, buckets: 61 }
/** One bucket per minute: a rolling day in steps too small for a caller to notice. */
const DAY = { windowSeconds: 86_400, buckets: 1_441 }

const RPC_ENDPOINT = 'endpoint:api/v1/crypto/rpc'

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

/**
 * Chooses the windows of a request: one per account, or per account and model. Account limits override the tier's; key
 * limits add windows that must pass as well.
 */
export class RatePlans {
  readonly #limits: LimitTable
  /** Keyed by the overrides object of the caller, which lives as long as the cached caller. */
  readonly #overridden = new WeakMap<object, TierLimits>()

  constructor(limits: LimitTable) {
    this.#limits = limits
  }

  /**
   * Requests and tokens per minute of the model's tier. A request with an estimate above the whole limit needs an empty
   * window.
   */
  planForText(caller: Caller, model: { id: string; tier: ModelTier }, tokensEstimate: number): RatePlan {
    const { requestsPerMinute, tokensPerMinute } = this.limitsOf(caller).text[model.tier]
    const weight = Math.min(Math.ceil(Math.max(0, tokensEstimate)), tokensPerMinute)
    const plan = {
      ...planOf(caller, model.id),
      tierName: model.tier,
      requests: oneRequest(`${caller.accountId}:${model.id}:requests`, requestsPerMinute),
      tokens: { ...MINUTE, key: `${caller.accountId}:${model.id}:tokens`, limit: tokensPerMinute, weight },
    }
    return withKeyWindows(plan, caller.limitOverrides?.key?.text?.[model.tier])
  }

  planForEmbedding(caller: Caller, model: { id: string }): RatePlan {
    return this.planForRequests(caller, model, 'embedding')
  }

  planForRequests(caller: Caller, model: { id: string }, kind: RequestLimitedKind): RatePlan {
    // Polling for a video must not use up the calls that queue one.
    const name = kind === 'videoRetrieve' ? 'requests:retrieve' : 'requests'
    const { requestsPerMinute } = this.limitsOf(caller)[kind]
    const requests = oneRequest(`${caller.accountId}:${model.id}:${name}`, requestsPerMinute)
    return withKeyWindows({ ...planOf(caller, model.id), requests }, caller.limitOverrides?.key?.[kind])
  }

  /** Requests per minute over all networks, and RPC credits per rolling 24 hours. A batch is one request. */
  planForRpc(caller: Caller, credits: number): RatePlan {
    const { requestsPerMinute, creditsPer24Hours } = this.limitsOf(caller).rpc
    const plan = {
      ...planOf(caller, RPC_ENDPOINT),
      requests: oneRequest(`${caller.accountId}:rpc:requests`, requestsPerMinute),
      credits: { ...DAY, key: `${caller.accountId}:rpc:credits`, limit: creditsPer24Hours, weight: credits },
    }
    return withKeyWindows(plan, caller.limitOverrides?.key?.rpc)
  }

  planForKeyCreation(caller: Caller): RatePlan {
    return {
      ...planOf(caller, 'endpoint:api/v1/api_keys'),
      requests: {
        ...oneRequest(`${caller.accountId}:api-keys:creations`, this.#limits.keys.creationsPerMinute),
        enforcedByDatabase: true,
      },
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

  /** Requests per minute of a wallet that reads its own account. */
  planForWalletRead(caller: Caller, what: 'balance' | 'transactions'): RatePlan {
    const { balanceReadsPerMinute, transactionReadsPerMinute } = this.#limits.wallet
    const limit = what === 'balance' ? balanceReadsPerMinute : transactionReadsPerMinute
    return {
      ...planOf(caller, `endpoint:api/v1/x402/${what}`),
      requests: oneRequest(`${caller.accountId}:x402:${what}`, limit),
    }
  }

  /** The plans of all models, then of the endpoints with their own limits, for listing limits. */
  plansOf(caller: Caller, models: readonly { id: string; type: ModelType; tier: ModelTier }[]): RatePlan[] {
    return [
      ...models.map((model) =>
        model.type === 'text'
          ? this.planForText(caller, model, 0)
          : this.planForRequests(caller, model, REQUEST_LIMIT_OF_TYPE[model.type]),
      ),
      this.planForRpc(caller, 0),
      this.planForKeyCreation(caller),
      this.planForManagement(caller),
    ]
  }

  /** The limits of the caller's tier, overridden by those set for the account. */
  limitsOf({ tier, limitOverrides }: Pick<Caller, 'tier' | 'limitOverrides'>): TierLimits {
    const overrides = limitOverrides?.account
    if (overrides == null) return this.#limits[tier]
    const known = this.#overridden.get(overrides)
    if (known !== undefined) return known
    const limits = withOverrides(this.#limits[tier], overrides)
    this.#overridden.set(overrides, limits)
    return limits
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

interface KeyNumbers {
  requestsPerMinute?: number
  tokensPerMinute?: number
  creditsPer24Hours?: number
}

/** Adds a window for the key to each window of the account if the operator set a limit. */
function withKeyWindows(plan: RatePlan, numbers: KeyNumbers | undefined): RatePlan {
  if (numbers === undefined || plan.apiKeyId === null) return plan
  const keyWindow = (charge: WindowCharge | null, limit: number | undefined): WindowCharge | null => {
    if (charge === null || limit === undefined) return null
    return { ...charge, key: charge.key.replace(':', `:key:${plan.apiKeyId}:`), limit }
  }
  const tokens = keyWindow(plan.tokens, numbers.tokensPerMinute)
  return {
    ...plan,
    scope: 'api_key',
    keyWindows: {
      requests: keyWindow(plan.requests, numbers.requestsPerMinute),
      tokens: tokens && { ...tokens, weight: Math.min(tokens.weight, tokens.limit) },
      credits: keyWindow(plan.credits, numbers.creditsPer24Hours),
    },
  }
}
