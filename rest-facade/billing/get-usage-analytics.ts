import { UsageAnalyticsQuery } from '../../server/domain/usage/reports/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { defineRoute, MANAGEMENT_LIMITS } from '../route.ts'
import { toUsageAnalytics, UsageAnalyticsBody } from './usage-analytics-response.ts'

export const getUsageAnalyticsRoute = defineRoute({
  method: 'get',
  path: '/billing/usage-analytics',
  access: 'admin',
  limits: MANAGEMENT_LIMITS,
  compressed: true,
  summary: 'Get the usage of at most 90 days by date, model and key; at most 10 minutes old',
  parameters: { query: UsageAnalyticsQuery },
  output: { json: UsageAnalyticsBody },
  errors: ['invalid_request'],
  async handler(exchange) {
    const query = parseInput(UsageAnalyticsQuery, exchange.query)
    const report = await exchange.services.usage.analytics.report(exchange.requireCaller().accountId, query)
    return { json: toUsageAnalytics(report) }
  },
})
