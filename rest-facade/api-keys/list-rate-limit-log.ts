import { z } from 'zod'
import { RATE_LIMIT_TYPES_LOGGED, type Refusal } from '../../server/domain/rate-limits/refusal.ts'
import { defineRoute, MANAGEMENT_LIMITS } from '../route.ts'

const LogEntry = z.object({
  apiKeyId: z.string().nullable(),
  modelId: z.string(),
  rateLimitTier: z.string(),
  rateLimitType: z.enum(RATE_LIMIT_TYPES_LOGGED),
  timestamp: z.iso.datetime(),
})

export const listRateLimitLogRoute = defineRoute({
  method: 'get',
  path: '/api_keys/rate_limits/log',
  access: 'admin',
  limits: MANAGEMENT_LIMITS,
  summary: 'List the 50 newest requests of the account that exceeded a rate limit, newest first',
  output: { json: z.object({ data: z.array(LogEntry), object: z.literal('list') }) },
  errors: [],
  handler: async (exchange) => {
    const refusals = await exchange.services.limits.refusals.latest(exchange.requireCaller().accountId)
    return { json: { data: refusals.map(toLogEntry), object: 'list' as const } }
  },
})

function toLogEntry(refusal: Refusal): z.output<typeof LogEntry> {
  return {
    apiKeyId: refusal.apiKeyId,
    modelId: refusal.subject,
    rateLimitTier: refusal.rateLimitTier,
    rateLimitType: refusal.rateLimitType,
    timestamp: refusal.at.toISOString(),
  }
}
