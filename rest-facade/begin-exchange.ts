import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../server/domain/caller.ts'
import type { Services } from '../server/domain/services.ts'
import { Exchange, type Target } from './exchange.ts'
import { type RequestPayment, setPaymentResponse } from './x402/payment.ts'

const EMPTY = Buffer.alloc(0)

/** A request from the HTTP server, with the parameters of its path. */
export interface Incoming {
  request: IncomingMessage
  response: ServerResponse
  services: Services
  target: Target
}

/** The known facts about a request before its handler runs. */
export interface Received {
  caller: Caller | null
  body?: unknown
  rawBody?: Buffer
  requestId?: string
  payment?: RequestPayment | undefined
}

/** Starts the response to a request: whatever its outcome, it names the request and the release. */
export function beginExchange(
  { request, response, services, target }: Incoming,
  { caller, body, rawBody = EMPTY, requestId = services.ids.requestId(), payment }: Received = { caller: null },
): Exchange {
  const exchange = new Exchange({ request, response, services, target, requestId, caller, body, rawBody })
  exchange.setHeader('CF-RAY', requestId)
  exchange.setHeader('X-Request-ID', requestId)
  exchange.setHeader(`x-${services.identity.serviceName}-version`, services.identity.version)
  // Also on a rejection, because the payment is on the wallet's balance whatever the outcome.
  if (payment?.kind === 'credited') setPaymentResponse(exchange, payment.credited)
  return exchange
}
