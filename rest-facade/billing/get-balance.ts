import { z } from 'zod'
import { toUsdNumber } from '../../server/domain/money.ts'
import { defineRoute, MANAGEMENT_LIMITS } from '../route.ts'

const BillingBalanceBody = z.object({
  canConsume: z.boolean(),
  consumptionCurrency: z.enum(['USD', 'DIEM']).nullable(),
  balances: z.object({ diem: z.number().nullable(), usd: z.number() }),
  diemEpochAllocation: z.number(),
})

const CURRENCY_NAMES = { usd: 'USD', diem: 'DIEM' } as const

export const getBillingBalanceRoute = defineRoute({
  method: 'get',
  path: '/billing/balance',
  access: 'admin',
  limits: MANAGEMENT_LIMITS,
  summary: 'Get the balances of the account and the currency of its next request',
  output: { json: BillingBalanceBody },
  errors: [],
  async handler(exchange) {
    const balance = await exchange.services.accounts.billingBalance(exchange.requireCaller().accountId)
    const { consumptionCurrency: currency } = balance
    return {
      json: {
        canConsume: balance.canConsume,
        consumptionCurrency: currency === null ? null : CURRENCY_NAMES[currency],
        balances: {
          diem: balance.diemNano === null ? null : toUsdNumber(balance.diemNano),
          usd: toUsdNumber(balance.usdNano),
        },
        diemEpochAllocation: toUsdNumber(balance.diemAllocationNano),
      },
    }
  },
})
