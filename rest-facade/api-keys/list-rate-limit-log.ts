import type { Refusal } from '../../server/domain/rate-limits/refusal.ts'
import type { Route } from '../route.ts'

export const listRateLimitLogRoute: Route = {
  method: 'get',
  path: '/api_keys/rate_limits/log',
  access: 'admin',
  summary: 'List the 50 newest requests of the account that exceeded a rate limit, newest first',
  handler: async (exchange) => {
    const refusals = await exchange.services.refusals.latest(exchange.requireCaller().accountId)
    exchange.json(200, { data: refusals.map(toLogEntry), object: 'list' })
  },
}

function toLogEntry(refusal: Refusal) {
  return {
    apiKeyId: refusal.apiKeyId,
    modelId: refusal.subject,
    rateLimitTier: refusal.rateLimitTier,
    rateLimitType: refusal.rateLimitType,
    timestamp: refusal.at.toISOString(),
  }
}
