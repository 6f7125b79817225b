import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Services } from '../server/domain/services.ts'
import type { Route } from './route.ts'
import { rpcHeaderNames } from './rpc/rpc-headers.ts'

/** How long a browser may cache a preflight response; Chromium's own maximum. */
const PREFLIGHT_SECONDS = 7_200

/** Headers that clients send; `*` covers those that SDKs add about themselves, but never Authorization. */
const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Idempotency-Key',
  'SIGN-IN-WITH-X',
  'X-Sign-In-With-X',
  'PAYMENT-SIGNATURE',
  'X-PAYMENT',
  'X-402-Payment',
  'Access-Control-Expose-Headers',
  '*',
]

/**
 * Allows pages of other origins to call. Credentials are sent explicitly, never by cookie, so no page gains rights that
 * are not its own.
 */
export class CrossOriginCalls {
  readonly #allowed: ReadonlySet<string>
  readonly #methods: string
  readonly #exposed: string

  constructor(routes: readonly Route[], { identity: { allowedOrigins, serviceName } }: Services) {
    this.#allowed = new Set(allowedOrigins)
    this.#methods = [...new Set(routes.map((route) => route.method.toUpperCase()))].join(', ')
    this.#exposed = responseHeaders(serviceName).join(', ')
  }

  /** Marks the response as readable for the page's origin; true if the request was a preflight and has its response. */
  answer({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
    const { origin } = headers
    if (origin === undefined) return false
    const isAllowed = this.#allow(origin, response)
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) {
      if (isAllowed) response.setHeader('Access-Control-Expose-Headers', this.#exposed)
      return false
    }
    if (isAllowed) {
      response.setHeader('Access-Control-Allow-Methods', this.#methods)
      response.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS.join(', '))
      response.setHeader('Access-Control-Max-Age', PREFLIGHT_SECONDS)
    }
    response.writeHead(204).end()
    return true
  }

  #allow(origin: string, response: ServerResponse): boolean {
    const isForAll = this.#allowed.has('*')
    const isAllowed = isForAll || this.#allowed.has(origin)
    if (isAllowed) response.setHeader('Access-Control-Allow-Origin', isForAll ? '*' : origin)
    if (!isForAll) response.setHeader('Vary', 'Origin')
    return isAllowed
  }
}

/** Names of the response headers that pages may read. */
function responseHeaders(serviceName: string): string[] {
  const own = [
    'version',
    'balance-usd',
    'balance-diem',
    'model-id',
    'model-name',
    'model-router',
    'model-deprecation-warning',
    'model-deprecation-date',
  ]
  return [
    'CF-RAY',
    'Date',
    'Allow',
    'Retry-After',
    'Idempotent-Replayed',
    'Idempotent-Stored',
    'X-Request-ID',
    'x-retry-count',
    'x-ratelimit-limit-requests',
    'x-ratelimit-remaining-requests',
    'x-ratelimit-reset-requests',
    'x-ratelimit-limit-tokens',
    'x-ratelimit-remaining-tokens',
    'x-ratelimit-reset-tokens',
    'x-ratelimit-type',
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'PAYMENT-REQUIRED',
    'PAYMENT-RESPONSE',
    'X-PAYMENT-RESPONSE',
    'X-Balance-Remaining',
    'x-next-cursor',
    'Content-Disposition',
    ...own.map((name) => `x-${serviceName}-${name}`),
    ...Object.values(rpcHeaderNames(serviceName)),
    // Headers that only one operation has.
    '*',
  ]
}
