import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Express, Request, Response } from 'express'
import type { Caller } from '../server/domain/auth/caller.ts'
import type { DomainError, LimitFacts } from '../server/domain/errors.ts'
import type { Services } from '../server/domain/services.ts'
import { setBalanceHeaders, setRateLimitHeaders } from './headers.ts'
import { readRequestBody } from './body.ts'
import { acceptedEncoding } from './content-encoding.ts'
import { identify } from './credentials.ts'
import { CrossOriginCalls } from './cross-origin.ts'
import { toDomainError, toRestError } from './errors.ts'
import { DirectRoutes } from './direct-routes.ts'
import { Exchange, type Target } from './exchange.ts'
import { serveIdempotently } from './idempotency.ts'
import type { Route } from './route.ts'
import { answerPending, paymentHeaderOf, type RequestPayment, setPaymentResponse, takePayment } from './x402/payment.ts'
import { answerPaymentRequired } from './x402/payment-required.ts'

const BASE_PATH = '/api/v1'
const EMPTY = Buffer.alloc(0)

/**
 * Serves the table of routes below `/api/v1`, with one pipeline for all: identify, read, handle, answer. The returned
 * listener comes before Express: it sees to browsers, serves the plain paths, since Express's own part of a request costs
 * more than finding a route does, and leaves every other request to it by answering false.
 */
export function mountRestFacade(
  app: Express,
  routes: readonly Route[],
  services: Services,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const methods = new Map<string, string[]>()
  for (const route of routes) {
    app[route.method](BASE_PATH + route.path, (request, response) =>
      serve(route, incoming(request, response, services)),
    )
    methods.set(route.path, [...(methods.get(route.path) ?? []), route.method.toUpperCase()])
  }
  for (const [path, allowed] of methods) {
    app.all(BASE_PATH + path, (request, response) => {
      const exchange = begin(incoming(request, response, services))
      exchange.setHeader('Allow', allowed.join(', '))
      exchange.json(405, {
        error: `${request.method} is not served here; use ${allowed.join(' or ')}`,
        code: 'METHOD_NOT_ALLOWED',
      })
    })
  }
  app.use(BASE_PATH, (request: Request, response: Response) => {
    begin(incoming(request, response, services)).json(404, {
      error: `There is no ${request.method} ${BASE_PATH}${request.path}`,
      code: 'NOT_FOUND',
    })
  })
  const direct = new DirectRoutes(BASE_PATH, routes)
  const crossOrigin = new CrossOriginCalls(routes, services)
  return (request, response) => {
    if (request.url?.startsWith(BASE_PATH) === true && crossOrigin.answer(request, response)) return true
    const found = direct.find(request)
    if (found === undefined) return refuseUnreadablePath({ request, response, services })
    void serve(found.route, { request, response, services, target: found.target })
    return true
  }
}

/** Express answers such a path with a page of its own that tells the insides of the process. */
function refuseUnreadablePath(parts: Omit<Incoming, 'target'>): boolean {
  const [path = ''] = (parts.request.url ?? '').split('?')
  if (!path.startsWith(BASE_PATH) || isReadable(path)) return false
  begin({ ...parts, target: { path, params: {}, search: '' } }).json(400, {
    error: 'The path is not readable: write each % as %25, and other characters as percent-encoded UTF-8',
    code: 'INVALID_REQUEST',
  })
  return true
}

function isReadable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

interface Incoming {
  request: IncomingMessage
  response: ServerResponse
  services: Services
  target: Target
}

function incoming(request: Request, response: Response, services: Services): Incoming {
  const { originalUrl, params } = request
  const query = originalUrl.indexOf('?')
  const path = query < 0 ? originalUrl : originalUrl.slice(0, query)
  return {
    request,
    response,
    services,
    target: { path, params, search: query < 0 ? '' : originalUrl.slice(query + 1) },
  }
}

/** What is known of a request before its handler runs. */
interface Read {
  caller: Caller | null
  body: unknown
  rawBody: Buffer
  requestId?: string
  payment?: RequestPayment | undefined
}

function begin(
  { request, response, services, target }: Incoming,
  { payment, ...read }: Read = { caller: null, body: undefined, rawBody: EMPTY },
): Exchange {
  const requestId = read.requestId ?? services.ids.requestId()
  const exchange = new Exchange({ request, response, services, target, requestId, ...read })
  exchange.setHeader('CF-RAY', requestId)
  exchange.setHeader(`x-${services.serviceName}-version`, services.version)
  // Also on a refusal: what was paid is on the wallet's balance, whatever became of the request.
  if (payment?.kind === 'credited') setPaymentResponse(exchange, payment.credited)
  return exchange
}

async function serve(route: Route, incoming: Incoming): Promise<void> {
  const { request, services } = incoming
  const requestId = services.ids.requestId()
  let exchange: Exchange | undefined
  let caller: Caller | null = null
  let payment: RequestPayment | undefined
  try {
    if (paymentHeaderOf(request) !== undefined) payment = await takePayment(request, route, services)
    if (payment?.kind === 'pending') return answerPending(begin(incoming), payment.pending)
    caller = payment === undefined ? await identify(request, route.access, services) : payment.caller
    // The caller is known by now, so a refusal counts as its failure and tells its limits.
    if (caller !== null && route.access === 'admin') services.auth.requireAdmin(caller)
    const { raw, parsed } = await readRequestBody(request, route.body, services.bodies)
    exchange = begin(incoming, { caller, body: parsed, rawBody: raw, requestId, payment })
    if (caller !== null && (route.access === 'admin' || route.access === 'any_key'))
      await admitManagement(exchange, caller)
    if (caller !== null && route.access === 'optional') await setAccountHeaders(exchange, caller)
    await handle(route, exchange)
  } catch (error) {
    exchange ??= begin(incoming, { caller, body: undefined, rawBody: EMPTY, requestId, payment })
    await fail(exchange, error, route).catch((failure: unknown) => {
      // Whatever keeps even the refusal from being written must end this request and no other.
      services.log.error('refusal could not be written', { requestId, route: route.path, error: failure })
      incoming.response.destroy()
    })
  }
}

function handle(route: Route, exchange: Exchange): Promise<void> {
  if (route.compressed === true) {
    exchange.encoding = acceptedEncoding(exchange.header('accept-encoding'))
    exchange.vary('Accept-Encoding')
  }
  if (route.idempotent === undefined) return route.handler(exchange)
  return serveIdempotently(exchange, () => route.handler(exchange))
}

/** Routes that call no model and no node share one account-wide window. */
async function admitManagement(exchange: Exchange, caller: Caller): Promise<void> {
  const { rateLimits, ratePlans, ledger } = exchange.services
  setRateLimitHeaders(exchange, await rateLimits.admit(ratePlans.planForManagement(caller)))
  setBalanceHeaders(exchange, await ledger.balances(caller.accountId))
}

async function fail(exchange: Exchange, thrown: unknown, route: Route): Promise<void> {
  const { response, services, caller } = exchange
  const error = toDomainError(thrown)
  if (error.code === 'internal') {
    services.log.error('request failed', { requestId: exchange.requestId, route: route.path, error: error.cause })
  } else if (error.code === 'unavailable' && error.cause !== undefined) {
    services.log.warn('request refused', { requestId: exchange.requestId, route: route.path, error: error.cause })
  }
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const openAiShape = exchange.header(`x-${services.serviceName}-error-format`) === 'openai' || services.openAiErrors
  const asked = await askForPayment(exchange, error, route)
  const { status, body } = asked ?? toRestError(error, openAiShape)
  if (caller !== null) {
    if (status !== 402 && status !== 429) services.abuseGuard.recordFailure(subjectOf(caller), caller)
    await setAccountHeaders(exchange, caller, error.limit)
  }
  setRetryHeaders(exchange, error, route)
  // The rest of a refused body is not worth reading; closing tells the client to stop sending it.
  if (!exchange.request.complete) exchange.setHeader('Connection', 'close')
  exchange.json(status, body)
}

/** The terms come from elsewhere for some chains; where they cannot be had, the plain refusal stands. */
async function askForPayment(exchange: Exchange, error: DomainError, route: Route) {
  try {
    const body = await answerPaymentRequired(exchange, error, route)
    return body === undefined ? undefined : { status: 402, body }
  } catch (failure) {
    exchange.services.log.warn('what can be paid is missing on a 402', {
      requestId: exchange.requestId,
      error: failure,
    })
    return undefined
  }
}

function subjectOf(caller: Caller): string {
  return caller.kind === 'key' ? `key:${caller.keyId}` : `wallet:${caller.walletAddress}`
}

/** Answers that were not admitted carry the limit and balance headers as well; a store that fails here must not hide them. */
async function setAccountHeaders(exchange: Exchange, caller: Caller, limit?: LimitFacts): Promise<void> {
  if (exchange.hasHeader('x-ratelimit-type')) return
  const { rateLimits, ratePlans, ledger, log } = exchange.services
  try {
    if (limit?.windows === undefined) {
      const plan = ratePlans.planForManagement(caller)
      setRateLimitHeaders(exchange, { plan, ...(await rateLimits.peek(plan)) })
    } else {
      setRateLimitHeaders(exchange, { plan: limit.windows, ...limit.windows })
    }
    setBalanceHeaders(exchange, await ledger.balances(caller.accountId))
  } catch (error) {
    log.warn('limit and balance headers are missing on an answer', { requestId: exchange.requestId, error })
  }
}

function setRetryHeaders(exchange: Exchange, error: DomainError, route: Route): void {
  const { limit, retryAfterSeconds } = error
  // ethers reads Retry-After as milliseconds and storms; the RPC proxy has its own trio instead.
  if (route.path.startsWith('/crypto/rpc')) {
    if (limit === undefined) return
    exchange.setHeader('X-RateLimit-Limit', limit.limit)
    exchange.setHeader('X-RateLimit-Remaining', limit.remaining)
    exchange.setHeader('X-RateLimit-Reset', Math.ceil(limit.resetAtMs / 1_000))
    return
  }
  if (retryAfterSeconds !== undefined) exchange.setHeader('Retry-After', retryAfterSeconds)
}
