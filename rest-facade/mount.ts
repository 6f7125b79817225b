import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Express, Request, Response } from 'express'
import type { Caller } from '../server/domain/caller.ts'
import { DomainError } from '../server/domain/errors.ts'
import type { Services } from '../server/domain/services.ts'
import { setBalanceHeaders, setRateLimitHeaders } from './headers.ts'
import { readRequestBody } from './body.ts'
import { acceptedEncoding } from './content-encoding.ts'
import { identify } from './credentials.ts'
import { CrossOriginCalls } from './cross-origin.ts'
import { DirectRoutes } from './direct-routes.ts'
import { Exchange, type Target } from './exchange.ts'
import { serveIdempotently } from './idempotency.ts'
import { rejectRequest, respondWithError, setAccountHeaders } from './rejection.ts'
import type { Route } from './route.ts'
import { answerPending, paymentHeaderOf, type RequestPayment, setPaymentResponse, takePayment } from './x402/payment.ts'

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
      respondWithError(
        exchange,
        new DomainError('method_not_allowed', `${request.method} is not supported here; use ${allowed.join(' or ')}`),
      )
    })
  }
  app.use(BASE_PATH, (request: Request, response: Response) => {
    respondWithError(
      begin(incoming(request, response, services)),
      new DomainError('not_found', `${request.method} ${BASE_PATH}${request.path} does not exist`),
    )
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
  respondWithError(
    begin({ ...parts, target: { path, params: {}, search: '' } }),
    new DomainError(
      'invalid_request',
      'The path is not valid: write each % as %25, and other characters as percent-encoded UTF-8',
    ),
  )
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
  exchange.setHeader('X-Request-ID', requestId)
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
    if (caller?.kind === 'key') services.abuseGuard.assertNotBlocked(`key:${caller.keyId}`)
    if (caller !== null && route.access === 'admin') services.auth.requireAdmin(caller)
    const { raw, parsed } = await readRequestBody(request, route.body, services.bodies)
    exchange = begin(incoming, { caller, body: parsed, rawBody: raw, requestId, payment })
    if (caller !== null && (route.access === 'admin' || route.access === 'any_key'))
      await admitManagement(exchange, caller)
    if (caller !== null && route.access === 'optional') await setAccountHeaders(exchange, route)
    await handle(route, exchange)
  } catch (error) {
    exchange ??= begin(incoming, { caller, body: undefined, rawBody: EMPTY, requestId, payment })
    await rejectRequest(exchange, error, route).catch((failure: unknown) => {
      // Whatever keeps even the refusal from being written must end this request and no other.
      services.log.error('error response could not be written', { requestId, route: route.path, error: failure })
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
