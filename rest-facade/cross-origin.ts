import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Services } from '../server/domain/services.ts'
import type { Route } from './route.ts'
import { rpcHeaderNames } from './rpc/rpc-headers.ts'

/** How long a browser may keep the answer to its question; Chromium's own maximum. */
const PREFLIGHT_SECONDS = 7_200

/** What clients send; `*` stands for what SDKs add about themselves, and never for Authorization. */
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

/** Lets pages of other origins call. Credentials are sent on purpose, never by cookie, so no page has more rights than its own. */
export class CrossOriginCalls {
  readonly #allowed: ReadonlySet<string>
  readonly #methods: string
  readonly #exposed: string

  constructor(routes: readonly Route[], { identity: { allowedOrigins, serviceName } }: Services) {
    this.#allowed = new Set(allowedOrigins)
    this.#methods = [...new Set(routes.map((route) => route.method.toUpperCase()))].join(', ')
    this.#exposed = responseHeaders(serviceName).join(', ')
  }

  /** Marks the answer to a page that may read it; true when the request was the browser's own question and is answered. */
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

/** Names of the headers that answers carry, for pages to read. */
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
    // Those that only one operation has.
    '*',
  ]
}
