import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { WalletCaller } from '../../server/domain/caller.ts'
import { DomainError } from '../../server/domain/errors.ts'
import type { CreditedPayment, PendingPayment } from '../../server/domain/payments/payment-service.ts'
import type { Services } from '../../server/domain/services.ts'
import type { Exchange } from '../exchange.ts'
import type { Route } from '../route.ts'

/** Newest first; the first one present is used. */
const HEADERS = ['payment-signature', 'x-402-payment', 'x-payment'] as const

export type RequestPayment =
  | { kind: 'credited'; caller: WalletCaller; credited: CreditedPayment }
  | { kind: 'pending'; pending: PendingPayment }

export function paymentHeaderOf({ headers }: IncomingMessage): string | undefined {
  for (const name of HEADERS) {
    const value = headers[name]
    if (value !== undefined) return Array.isArray(value) ? value.join() : value
  }
  return undefined
}

/**
 * The payment of a request: on a route for wallets it tops up the payer, who then becomes the caller; on any other
 * route it is rejected and nothing is settled. Undefined if there is none, and on the route that handles payments
 * itself.
 */
export async function takePayment(
  request: IncomingMessage,
  route: Route,
  services: Services,
): Promise<RequestPayment | undefined> {
  const header = paymentHeaderOf(request)
  if (header === undefined || route.takesPayment === true) return undefined
  if (route.access !== 'inference') {
    throw new DomainError(
      'payment_not_accepted',
      'This route does not accept payments, and nothing was settled; send the payment to POST /api/v1/x402/top-up',
    )
  }
  const result = await services.payments.payments.payForRequest(header, services.clientAddresses.of(request))
  if (result.kind === 'pending') return { kind: 'pending', pending: result }
  return { kind: 'credited', caller: await services.wallets.accounts.callerOf(result.wallet), credited: result }
}

/** x402's confirmation, under its header names of version 2 and version 1. */
export function setPaymentResponse(exchange: Exchange, { network, wallet, transactionId }: CreditedPayment): void {
  const confirmation = { success: true, network, payer: wallet.address, transaction: transactionId }
  const value = Buffer.from(JSON.stringify(confirmation)).toString('base64')
  exchange.setHeader('PAYMENT-RESPONSE', value)
  exchange.setHeader('X-PAYMENT-RESPONSE', value)
}

/** Body of 202. */
export const PaymentPending = z.object({
  success: z.literal(false),
  status: z.literal('pending'),
  transaction: z.string().optional(),
  retryAfterSeconds: z.number(),
})

/** 202: the outcome of the payment is not known yet. Retry with the same payment, never with another one. */
export function pendingReply({ transactionId, retryAfterSeconds }: PendingPayment) {
  const json: z.output<typeof PaymentPending> = {
    success: false,
    status: 'pending',
    ...(transactionId === null ? {} : { transaction: transactionId }),
    retryAfterSeconds,
  }
  return { status: 202, headers: { 'Retry-After': String(retryAfterSeconds), 'Cache-Control': 'no-store' }, json }
}
