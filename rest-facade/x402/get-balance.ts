import { toUsdNumber } from '../../server/domain/money.ts'
import { TOP_UP_MIN_ATOMIC, TOP_UP_SUGGESTED_ATOMIC } from '../../server/domain/payments/payment-options.ts'
import { requireWallet } from '../credentials.ts'
import { setBalanceHeaders, setRateLimitHeaders } from '../headers.ts'
import type { Route } from '../route.ts'
import { atomicToUsdNumber } from './usd.ts'

export const getWalletBalanceRoute: Route = {
  method: 'get',
  path: '/x402/balance/:walletAddress',
  access: 'wallet',
  ratePlan: ({ services }, caller) => services.ratePlans.planForWalletRead(caller, 'balance'),
  summary: 'Get the balance of a wallet',
  async handler(exchange) {
    const { walletStatements, ratePlans, rateLimits } = exchange.services
    const caller = requireWallet(exchange.requireCaller())
    walletStatements.assertOwn(caller, exchange.param('walletAddress'))
    setRateLimitHeaders(exchange, await rateLimits.admit(ratePlans.planForWalletRead(caller, 'balance')))
    const { walletAddress, balances, usdNano, diemNano, canConsume } = await walletStatements.balance(caller)
    setBalanceHeaders(exchange, balances)
    exchange.json(200, {
      success: true,
      data: {
        walletAddress,
        balanceUsd: toUsdNumber(usdNano),
        canConsume,
        minimumTopUpUsd: atomicToUsdNumber(TOP_UP_MIN_ATOMIC),
        suggestedTopUpUsd: atomicToUsdNumber(TOP_UP_SUGGESTED_ATOMIC),
        ...(diemNano === null ? {} : { diemBalanceUsd: toUsdNumber(diemNano) }),
      },
    })
  },
}
