import { DomainError } from '../../server/domain/errors.ts'
import { parseIdempotencyKey } from '../../server/domain/idempotency/idempotency-key.ts'
import { toUsdNumber } from '../../server/domain/money.ts'
import type { Exchange } from '../exchange.ts'
import type { Route } from '../route.ts'
import { answerPending, paymentHeaderOf, setPaymentResponse } from './payment.ts'

/** Without a payment header what can be paid, with one the credit. */
export const topUpRoute: Route = {
  method: 'post',
  path: '/x402/top-up',
  access: 'public',
  takesPayment: true,
  summary: 'Top up a wallet with USDC',
  async handler(exchange) {
    const header = paymentHeaderOf(exchange.request)
    if (header === undefined) return offer(exchange)
    const key = exchange.header('idempotency-key')
    const result = await exchange.services.payments.topUp(header, {
      address: exchange.clientAddress,
      idempotencyKey: key === undefined ? null : parseIdempotencyKey(key),
    })
    if (result.kind === 'pending') return answerPending(exchange, result)
    setPaymentResponse(exchange, result)
    exchange.setHeader('Cache-Control', 'no-store')
    exchange.json(200, {
      success: true,
      data: {
        walletAddress: result.wallet.address,
        amountCredited: toUsdNumber(result.amountNanoUsd),
        newBalance: toUsdNumber(result.balanceNanoUsd),
        paymentId: result.paymentId,
      },
    })
  },
}

async function offer(exchange: Exchange): Promise<void> {
  const { paymentOptions, publicUrl } = exchange.services
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
      url: `${publicUrl}${exchange.target.path}`,
      description: topUpRoute.summary,
      mimeType: 'application/json',
    },
    accepts: await paymentOptions.forTopUp(),
  }
  exchange.setHeader('PAYMENT-REQUIRED', Buffer.from(JSON.stringify(required)).toString('base64'))
  exchange.setHeader('Cache-Control', 'no-store')
  exchange.json(402, required)
}
