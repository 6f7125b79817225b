import type { Caller } from '../server/domain/caller.ts'
import { setBalanceHeaders, setRateLimitHeaders } from './headers.ts'
import { beginExchange, type Incoming } from './begin-exchange.ts'
import { readRequestBody } from './body.ts'
import { acceptedEncoding } from './content-encoding.ts'
import { identify } from './credentials.ts'
import type { Exchange } from './exchange.ts'
import { serveIdempotently } from './idempotency.ts'
import { rejectRequest, setAccountHeaders } from './rejection.ts'
import type { Route } from './route.ts'
import { answerPending, paymentHeaderOf, type RequestPayment, takePayment } from './x402/payment.ts'

/** The one pipeline of all routes: identify, read, handle, answer. */
export async function serveRoute(route: Route, incoming: Incoming): Promise<void> {
  const { request, services } = incoming
  const requestId = services.ids.requestId()
  let exchange: Exchange | undefined
  let caller: Caller | null = null
  let payment: RequestPayment | undefined
  try {
    if (paymentHeaderOf(request) !== undefined) payment = await takePayment(request, route, services)
    if (payment?.kind === 'pending') return answerPending(beginExchange(incoming), payment.pending)
    caller = payment === undefined ? await identify(request, route.access, services) : payment.caller
    // The caller is known by now, so a refusal counts as its failure and tells its limits.
    if (caller?.kind === 'key') services.abuseGuard.assertNotBlocked(`key:${caller.keyId}`)
    if (caller !== null && route.access === 'admin') services.auth.requireAdmin(caller)
    const { raw, parsed } = await readRequestBody(request, route.body, services.bodies)
    exchange = beginExchange(incoming, { caller, body: parsed, rawBody: raw, requestId, payment })
    if (caller !== null && (route.access === 'admin' || route.access === 'any_key'))
      await admitManagement(exchange, caller)
    if (caller !== null && route.access === 'optional') await setAccountHeaders(exchange, route)
    await handle(route, exchange)
  } catch (error) {
    exchange ??= beginExchange(incoming, { caller, requestId, payment })
    await rejectRequest(exchange, error, route).catch((failure: unknown) => {
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
