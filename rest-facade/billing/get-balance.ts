import { toUsdNumber } from '../../server/domain/money.ts'
import type { Route } from '../route.ts'

export const getBillingBalanceRoute: Route = {
  method: 'get',
  path: '/billing/balance',
  access: 'admin',
  summary: 'Get the balances of the account and the currency of its next request',
  async handler(exchange) {
    const balance = await exchange.services.accounts.billingBalance(exchange.requireCaller().accountId)
    exchange.json(200, {
      canConsume: balance.canConsume,
      consumptionCurrency: balance.consumptionCurrency?.toUpperCase() ?? null,
      balances: {
        diem: balance.diemNano === null ? null : toUsdNumber(balance.diemNano),
        usd: toUsdNumber(balance.usdNano),
      },
      diemEpochAllocation: toUsdNumber(balance.diemAllocationNano),
    })
  },
}
