import { formatNanoUsd, toNanoUsd } from '../money.ts'

/** What a request was charged. */
export interface Cost {
  /** Exact decimal text of what was paid in USD. For JSON-RPC the price to 8 decimals, whatever it was paid in. */
  usd: string
  /** Exact decimal text of what was paid in DIEM; `0` for JSON-RPC, whose answers tell the price alone. */
  diem: string
  /** Both together in nano-USD; null for JSON-RPC, whose price is rounded. `requests.retrieve` has it exactly. */
  nanoUsd: bigint | null
}

/** One window of the rate limits, after this request. */
export interface RateWindow {
  limit: number
  remaining: number
  /** From when on the window is as wide as its limit again. */
  resetsAt: Date
}

export interface RateLimits {
  requests: RateWindow | null
  /** Null where tokens are not limited. */
  tokens: RateWindow | null
  /** What the windows belong to: `user`, `api_key` or `global`. */
  scope: string | null
}

/** The model that served the request, as the service resolved its name. */
export interface ServingModel {
  id: string
  name: string | null
  /** The provider that answered. */
  router: string | null
  deprecation: { message: string; date: string | null } | null
}

/** Everything that an answer tells beside its data. */
export interface ResponseInfo {
  status: number
  /** Names the request to the operator of the service. */
  requestId: string | null
  /** Null where the answer does not tell it; a stream tells it at its end. */
  cost: Cost | null
  /** Credits that a JSON-RPC request was charged. */
  rpcCredits: number | null
  /** Exact decimal texts, as they were before the request; null where the answer does not tell them. */
  balances: { usd: string | null; diem: string | null }
  /** What a wallet has left after the request, in USD. */
  walletBalanceUsd: string | null
  rateLimits: RateLimits
  model: ServingModel | null
  /** This is the kept answer of an earlier try with the same idempotency key; nothing was charged again. */
  replayed: boolean
  /** Tries of this client before the one that succeeded. */
  retries: number
  /** Tries of the service with its providers or nodes before the one that succeeded. */
  upstreamRetries: number
  serviceVersion: string | null
  headers: Headers
}

export interface InfoParts {
  serviceName: string
  retries: number
  /** The parsed body, which tells the cost of inference. */
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
    // The service tells one reset as an instant and the other as a duration.
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
