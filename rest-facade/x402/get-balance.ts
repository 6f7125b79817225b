import { z } from 'zod'
import { toUsdNumber } from '../../server/domain/money.ts'
import { TOP_UP_MIN_ATOMIC, TOP_UP_SUGGESTED_ATOMIC } from '../../server/domain/payments/payment-options.ts'
import { requireWallet } from '../credentials.ts'
import { defineRoute } from '../route.ts'
import { atomicToUsdNumber } from './usd.ts'

const WalletBalanceBody = z.object({
  success: z.literal(true),
  data: z.object({
    walletAddress: z.string(),
    balanceUsd: z.number(),
    canConsume: z.boolean(),
    minimumTopUpUsd: z.number(),
    suggestedTopUpUsd: z.number(),
    diemBalanceUsd: z.number().optional(),
  }),
})

export const getWalletBalanceRoute = defineRoute({
  method: 'get',
  path: '/x402/balance/:walletAddress',
  access: 'wallet',
  limits: {
    counted: 'before_handler',
    plan: ({ services }, caller) => services.limits.ratePlans.planForWalletRead(caller, 'balance'),
  },
  summary: 'Get the balance of a wallet',
  parameters: { path: z.object({ walletAddress: z.string() }) },
  output: { json: WalletBalanceBody },
  errors: [],
  async handler(exchange) {
    const balance = await exchange.services.wallets.statements.balance(requireWallet(exchange.requireCaller()))
    const { walletAddress, usdNano, diemNano, canConsume } = balance
    return {
      json: {
        success: true as const,
        data: {
          walletAddress,
          balanceUsd: toUsdNumber(usdNano),
          canConsume,
          minimumTopUpUsd: atomicToUsdNumber(TOP_UP_MIN_ATOMIC),
          suggestedTopUpUsd: atomicToUsdNumber(TOP_UP_SUGGESTED_ATOMIC),
          ...(diemNano === null ? {} : { diemBalanceUsd: toUsdNumber(diemNano) }),
        },
      },
    }
  },
})
