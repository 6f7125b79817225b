import type { Caller } from '../server/domain/caller.ts'
import { admitToRoute, showMetered } from './account-headers.ts'
import { beginExchange, type Incoming } from './begin-exchange.ts'
import { readRequestBody } from './body.ts'
import { acceptedEncoding } from './content-encoding.ts'
import { authorize, identify } from './credentials.ts'
import type { Exchange } from './exchange.ts'
import { serveUnderKey } from './idempotency.ts'
import { rejectRequest } from './rejection.ts'
import { type Reply, sendStream, sendWhole } from './reply.ts'
import type { Route } from './route.ts'
import { paymentHeaderOf, pendingReply, type RequestPayment, takePayment } from './x402/payment.ts'

/**
 * The pipeline of all routes: identify the caller, read the body, count the request, handle it, and send the response.
 */
export async function serveRoute(route: Route, incoming: Incoming): Promise<void> {
  const { request, services } = incoming
  const requestId = services.ids.requestId()
  let exchange: Exchange | undefined
  let caller: Caller | null = null
  let payment: RequestPayment | undefined
  try {
    if (paymentHeaderOf(request) !== undefined) payment = await takePayment(request, route, services)
    if (payment?.kind === 'pending') {
      return sendWhole(beginExchange(incoming, { caller, requestId }), pendingReply(payment.pending))
    }
    caller = payment === undefined ? await identify(request, route.access, services) : payment.caller
    // The caller is known from here on, so a rejection counts as its failure and shows its limits.
    if (caller?.kind === 'key') services.limits.abuseGuard.assertNotBlocked(`key:${caller.keyId}`)
    if (caller !== null) authorize(caller, route, incoming)
    const { raw, parsed } = await readRequestBody(request, route.body, services.bodies)
    exchange = beginExchange(incoming, { caller, body: parsed, rawBody: raw, requestId, payment })
    await admitToRoute(exchange, route)
    await respond(route, exchange)
  } catch (error) {
    exchange ??= beginExchange(incoming, { caller, requestId, payment })
    await rejectRequest(exchange, error, route).catch((failure: unknown) => {
      // A failure to write the error must end only this request.
      services.log.error('error response could not be written', { requestId, route: route.path, error: failure })
      incoming.response.destroy()
    })
  }
}

function respond(route: Route, exchange: Exchange): Promise<void> {
  if (route.compressed === true) {
    exchange.encoding = acceptedEncoding(exchange.header('accept-encoding'))
    exchange.vary('Accept-Encoding')
  }
  const handle = async (): Promise<Reply> => {
    const reply = await route.handler(exchange)
    if (reply.metered !== undefined) showMetered(exchange, reply.metered)
    return reply
  }
  const key = route.idempotent === undefined ? undefined : exchange.header('idempotency-key')
  return key === undefined ? sendReply(exchange, handle) : serveUnderKey(exchange, key, handle)
}

async function sendReply(exchange: Exchange, handle: () => Promise<Reply>): Promise<void> {
  const reply = await handle()
  if ('chunks' in reply) await sendStream(exchange, reply)
  else sendWhole(exchange, reply)
}
