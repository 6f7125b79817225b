import { z } from 'zod'
import { DomainError } from '../../server/domain/errors.ts'
import { parseIdempotencyKey } from '../../server/domain/idempotency/idempotency-key.ts'
import { toUsdNumber } from '../../server/domain/money.ts'
import type { Exchange } from '../exchange.ts'
import { defineRoute } from '../route.ts'
import { PAYMENT_ERRORS } from '../route-errors.ts'
import { paymentHeaderOf, pendingReply, setPaymentResponse } from './payment.ts'

const SUMMARY = 'Top up a wallet with USDC'

const ToppedUp = z.object({
  success: z.literal(true),
  data: z.object({
    walletAddress: z.string(),
    amountCredited: z.number(),
    newBalance: z.number(),
    paymentId: z.string(),
  }),
})

/** Without a payment header it returns the payment options, with one the credit. */
export const topUpRoute = defineRoute({
  method: 'post',
  path: '/x402/top-up',
  access: 'public',
  limits: null,
  takesPayment: true,
  summary: SUMMARY,
  output: { json: ToppedUp },
  errors: ['invalid_request', 'conflict', 'rate_limited', ...PAYMENT_ERRORS],
  async handler(exchange) {
    const header = paymentHeaderOf(exchange.request)
    if (header === undefined) return offer(exchange)
    const key = exchange.header('idempotency-key')
    const result = await exchange.services.payments.payments.topUp(header, {
      address: exchange.clientAddress,
      idempotencyKey: key === undefined ? null : parseIdempotencyKey(key),
    })
    if (result.kind === 'pending') return pendingReply(result)
    setPaymentResponse(exchange, result)
    return {
      headers: { 'Cache-Control': 'no-store' },
      json: {
        success: true as const,
        data: {
          walletAddress: result.wallet.address,
          amountCredited: toUsdNumber(result.amountNanoUsd),
          newBalance: toUsdNumber(result.balanceNanoUsd),
          paymentId: result.paymentId,
        },
      },
    }
  },
})

async function offer({ services, target }: Exchange) {
  const {
    payments: { options: paymentOptions },
    identity: { publicUrl },
  } = services
  if (!paymentOptions.available) {
    throw new DomainError(
      'payment_not_configured',
      'This service does not accept wallet payments: x402 is not configured; use an API key',
    )
  }
  const required = {
    x402Version: 2,
    error: 'Payment required',
    resource: {
      url: `${publicUrl}${target.path}`,
      description: SUMMARY,
      mimeType: 'application/json',
    },
    accepts: await paymentOptions.forTopUp(),
  }
  const terms = Buffer.from(JSON.stringify(required)).toString('base64')
  return { status: 402, headers: { 'PAYMENT-REQUIRED': terms, 'Cache-Control': 'no-store' }, json: required }
}
