import { z } from 'zod'
import { ACCOUNT_TIERS } from '../../server/domain/caller.ts'
import type { CurrentLimits } from '../../server/domain/current-limits/current-limits-service.ts'
import { formatUsd } from '../../server/domain/money.ts'
import { RATE_LIMIT_TYPES_LOGGED } from '../../server/domain/rate-limits/refusal.ts'
import { defineRoute, MANAGEMENT_LIMITS } from '../route.ts'

const RateLimits = z.object({
  accessPermitted: z.boolean(),
  apiTier: z.object({ id: z.enum(ACCOUNT_TIERS), isCharged: z.literal(true) }),
  balances: z.object({ USD: z.number().optional(), DIEM: z.number().optional() }),
  keyExpiration: z.iso.datetime().nullable(),
  nextEpochBegins: z.iso.datetime(),
  rateLimits: z.array(
    z.object({
      apiModelId: z.string(),
      rateLimits: z.array(z.object({ type: z.enum(RATE_LIMIT_TYPES_LOGGED), amount: z.number() })),
    }),
  ),
})

export const getRateLimitsRoute = defineRoute({
  method: 'get',
  path: '/api_keys/rate_limits',
  access: 'any_key',
  limits: MANAGEMENT_LIMITS,
  summary: 'Get the current limits, balances and expiry of this API key',
  output: { json: z.object({ data: RateLimits }) },
  errors: [],
  handler: async (exchange) => {
    const current = await exchange.services.limits.currentLimits.get(exchange.requireCaller())
    return { json: { data: toRateLimits(current) } }
  },
})

function toRateLimits(current: CurrentLimits): z.output<typeof RateLimits> {
  const { accessPermitted, tier, balancesNano, keyExpiresAt, nextEpochAt, limits } = current
  const { usd, diem } = balancesNano
  return {
    accessPermitted,
    apiTier: { id: tier, isCharged: true },
    balances: {
      ...(usd === undefined ? {} : { USD: toAmount(usd) }),
      ...(diem === undefined ? {} : { DIEM: toAmount(diem) }),
    },
    keyExpiration: keyExpiresAt?.toISOString() ?? null,
    nextEpochBegins: nextEpochAt.toISOString(),
    rateLimits: limits.map(({ subject, amounts }) => ({ apiModelId: subject, rateLimits: amounts })),
  }
}

/** Parsing the exact decimal gives the nearest number; a division would round twice. */
function toAmount(amountNano: bigint): number {
  return Number(formatUsd(amountNano))
}
