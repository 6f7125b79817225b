import { UsageAnalyticsQuery } from '../../server/domain/usage/reports/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import type { Route } from '../route.ts'
import { toUsageAnalytics } from './usage-analytics-response.ts'

export const getUsageAnalyticsRoute: Route = {
  method: 'get',
  path: '/billing/usage-analytics',
  access: 'admin',
  compressed: true,
  summary: 'Get the usage of at most 90 days by date, model and key; at most 10 minutes old',
  input: UsageAnalyticsQuery,
  async handler(exchange) {
    const query = parseInput(UsageAnalyticsQuery, exchange.query)
    const report = await exchange.services.usageAnalytics.report(exchange.requireCaller().accountId, query)
    exchange.json(200, toUsageAnalytics(report))
  },
}
