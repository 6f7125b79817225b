import type { Caller } from '../server/domain/caller.ts'
import type { DomainError } from '../server/domain/errors.ts'
import { showRejected } from './account-headers.ts'
import { toDomainError, toRestError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { sendWhole } from './reply.ts'
import type { Route } from './route.ts'
import { answerPaymentRequired } from './x402/payment-required.ts'

/** Responds with the error of a request, and counts it as a failure of its caller. */
export async function rejectRequest(exchange: Exchange, thrown: unknown, route: Route): Promise<void> {
  const { response, services, caller, signal } = exchange
  // A client that disconnected reads no error, and disconnecting is not a failure.
  if (signal.aborted && thrown === signal.reason) return
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
  // A failure of the service or of an upstream is not the caller's abuse.
  if (caller !== null && status !== 402 && status !== 429 && status < 500) {
    services.limits.abuseGuard.recordFailure(subjectOf(caller), caller)
  }
  await showRejected(exchange, route, error)
  // The rest of a rejected body is not worth reading; closing the connection stops the client.
  if (!exchange.request.complete) exchange.setHeader('Connection', 'close')
  sendWhole(exchange, { status, json: body })
}

/** The error of a request without a route: the caller is not identified, and nothing is counted. */
export function respondWithError(exchange: Exchange, error: DomainError): void {
  const { status, body } = toRestError(error, wantsOpenAiForm(exchange))
  sendWhole(exchange, { status, json: body })
}

function wantsOpenAiForm({ services, request }: Exchange): boolean {
  return (
    services.identity.openAiErrors || request.headers[`x-${services.identity.serviceName}-error-format`] === 'openai'
  )
}

/** For some chains the terms come from elsewhere; if they are unavailable, the rejection is sent without them. */
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
