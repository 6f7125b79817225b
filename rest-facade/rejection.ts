import type { Caller } from '../server/domain/caller.ts'
import type { DomainError } from '../server/domain/errors.ts'
import { setBalanceHeaders, setRateLimitHeaders } from './headers.ts'
import { toDomainError, toRestError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { Route } from './route.ts'
import { answerPaymentRequired } from './x402/payment-required.ts'

/** Responds with the error that a request ended in, and counts it as a failure of its caller. */
export async function rejectRequest(exchange: Exchange, thrown: unknown, route: Route): Promise<void> {
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
  const { status, body } =
    (await askForPayment(exchange, error, route)) ?? toRestError(error, wantsOpenAiForm(exchange))
  // A failure of ours or of an upstream is not the caller's abuse.
  if (caller !== null && status !== 402 && status !== 429 && status < 500) {
    services.abuseGuard.recordFailure(subjectOf(caller), caller)
  }
  await setAccountHeaders(exchange, route, error)
  setRetryHeaders(exchange, error, route)
  // The rest of a refused body is not worth reading; closing tells the client to stop sending it.
  if (!exchange.request.complete) exchange.setHeader('Connection', 'close')
  exchange.json(status, body)
}

/** An error of a request that no route takes: nobody is identified, and nothing is counted. */
export function respondWithError(exchange: Exchange, error: DomainError): void {
  const { status, body } = toRestError(error, wantsOpenAiForm(exchange))
  exchange.json(status, body)
}

function wantsOpenAiForm({ services, request }: Exchange): boolean {
  return services.openAiErrors || request.headers[`x-${services.serviceName}-error-format`] === 'openai'
}

/** The terms come from elsewhere for some chains; where they cannot be had, the plain refusal stands. */
async function askForPayment(exchange: Exchange, error: DomainError, route: Route) {
  try {
    const body = await answerPaymentRequired(exchange, error, route)
    return body === undefined ? undefined : { status: 402, body }
  } catch (failure) {
    exchange.services.log.warn('payment options are missing on a 402', {
      requestId: exchange.requestId,
      error: failure,
    })
    return undefined
  }
}

function subjectOf(caller: Caller): string {
  return caller.kind === 'key' ? `key:${caller.keyId}` : `wallet:${caller.walletAddress}`
}

/**
 * The limit and balance headers of a response that was not admitted: those of the window that rejected it, otherwise of
 * the route's own windows. A store that fails here must not hide the response.
 */
export async function setAccountHeaders(exchange: Exchange, route: Route, error?: DomainError): Promise<void> {
  const { caller } = exchange
  if (caller === null) return
  const { rateLimits, ratePlans, ledger, log } = exchange.services
  const rejectedBy = error?.limit?.windows
  if (rejectedBy !== undefined) setRateLimitHeaders(exchange, { plan: rejectedBy, ...rejectedBy })
  else if (exchange.hasHeader('x-ratelimit-type')) return
  try {
    if (rejectedBy === undefined) {
      const plan = route.ratePlan?.(exchange, caller) ?? ratePlans.planForManagement(caller)
      setRateLimitHeaders(exchange, { plan, ...(await rateLimits.peek(plan)) })
    }
    setBalanceHeaders(exchange, await ledger.balances(caller.accountId))
  } catch (failure) {
    log.warn('a response lacks its limit and balance headers', { requestId: exchange.requestId, error: failure })
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
