import { formatNanoUsd, toNanoUsd } from '../money.ts'

/** The charge of a request. */
export interface Cost {
  /** Exact decimal string of the amount paid in USD. For JSON-RPC, the price to 8 decimals in any currency. */
  usd: string
  /** Exact decimal string of the amount paid in DIEM; `0` for JSON-RPC, whose responses contain only the price. */
  diem: string
  /** Sum of both in nano-USD; null for JSON-RPC, whose price is rounded. `requests.retrieve` has the exact amount. */
  nanoUsd: bigint | null
}

/** One window of the rate limits, after this request. */
export interface RateWindow {
  limit: number
  remaining: number
  /** When the window is empty again. */
  resetsAt: Date
}

export interface RateLimits {
  requests: RateWindow | null
  /** Null if tokens are not limited. */
  tokens: RateWindow | null
  /** Scope of the windows: `user`, `api_key` or `global`. */
  scope: string | null
}

/** The model that served the request. */
export interface ServingModel {
  id: string
  name: string | null
  /** The provider that responded. */
  router: string | null
  deprecation: { message: string; date: string | null } | null
}

/** Information about a response besides its data. */
export interface ResponseInfo {
  status: number
  /** Id of the request, for questions to the operator of the service. */
  requestId: string | null
  /** Null if the response does not contain it; a stream contains it at its end. */
  cost: Cost | null
  /** Credits charged for a JSON-RPC request. */
  rpcCredits: number | null
  /** Exact decimal strings of the balances before the request; null if the response does not contain them. */
  balances: { usd: string | null; diem: string | null }
  /** Balance of the wallet after the request, in USD. */
  walletBalanceUsd: string | null
  rateLimits: RateLimits
  model: ServingModel | null
  /**
   * Whether this is the stored response of an earlier attempt with the same idempotency key; nothing was charged again.
   */
  replayed: boolean
  /** Failed attempts of this client before the successful one. */
  retries: number
  /** Failed attempts of the service with its providers or nodes before the successful one. */
  upstreamRetries: number
  serviceVersion: string | null
  headers: Headers
}

export interface InfoParts {
  serviceName: string
  retries: number
  /** The parsed body, which contains the cost of inference. */
  body?: unknown
}

export function readResponseInfo(response: Response, { serviceName, retries, body }: InfoParts): ResponseInfo {
  const { headers } = response
  const own = (name: string): string | null => headers.get(`x-${serviceName}-${name}`)
  const rpcCredits = own('rpc-credits')
  const rpcCostUsd = own('rpc-cost-usd')
  return {
    status: response.status,
    requestId: headers.get('cf-ray') ?? headers.get('x-request-id'),
    cost: rpcCostUsd === null ? readCost(body) : { usd: rpcCostUsd, diem: '0', nanoUsd: null },
    rpcCredits: rpcCredits === null ? null : Number(rpcCredits),
    balances: { usd: own('balance-usd'), diem: own('balance-diem') },
    walletBalanceUsd: headers.get('x-balance-remaining'),
    rateLimits: readRateLimits(headers),
    model: readModel(own),
    replayed: headers.get('idempotent-replayed') === 'true',
    retries,
    upstreamRetries: Number(headers.get('x-retry-count') ?? 0),
    serviceVersion: own('version'),
    headers,
  }
}

/** The `cost` of a chat completion, or of the last chunk of its stream. */
export function readCost(body: unknown): Cost | null {
  const cost = typeof body === 'object' && body !== null && 'cost' in body ? body.cost : null
  if (typeof cost !== 'object' || cost === null || !('usd' in cost)) return null
  const usd = Number(cost.usd)
  const diem = 'diem' in cost ? Number(cost.diem) : 0
  if (!Number.isFinite(usd) || !Number.isFinite(diem)) return null
  const [usdNano, diemNano] = [toNanoUsd(usd), toNanoUsd(diem)]
  return { usd: formatNanoUsd(usdNano), diem: formatNanoUsd(diemNano), nanoUsd: usdNano + diemNano }
}

function readRateLimits(headers: Headers): RateLimits {
  const read = (kind: 'requests' | 'tokens', toMs: (reset: number) => number): RateWindow | null => {
    const limit = headers.get(`x-ratelimit-limit-${kind}`)
    if (limit === null) return null
    return {
      limit: Number(limit),
      remaining: Number(headers.get(`x-ratelimit-remaining-${kind}`)),
      resetsAt: new Date(toMs(Number(headers.get(`x-ratelimit-reset-${kind}`)))),
    }
  }
  return {
    // The service sends one reset as an instant and the other as a duration.
    requests: read('requests', (reset) => reset * 1_000),
    tokens: read('tokens', (reset) => Date.now() + reset * 1_000),
    scope: headers.get('x-ratelimit-type'),
  }
}

function readModel(own: (name: string) => string | null): ServingModel | null {
  const id = own('model-id')
  if (id === null) return null
  const warning = own('model-deprecation-warning')
  return {
    id: decode(id),
    name: decode(own('model-name')),
    router: decode(own('model-router')),
    deprecation: warning === null ? null : { message: decode(warning), date: own('model-deprecation-date') },
  }
}

/** Headers hold ASCII only, so the service encodes names in other scripts. */
function decode<Text extends string | null>(text: Text): Text | string {
  if (text === null || !/%[0-9A-F]{2}/i.test(text)) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
