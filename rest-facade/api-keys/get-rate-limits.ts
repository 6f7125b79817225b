import { formatUsd } from '../../server/domain/money.ts'
import type { CurrentLimits } from '../../server/domain/current-limits/current-limits-service.ts'
import type { Route } from '../route.ts'

export const getRateLimitsRoute: Route = {
  method: 'get',
  path: '/api_keys/rate_limits',
  access: 'any_key',
  summary: 'Get the current limits, balances and expiry of this API key',
  handler: async (exchange) => {
    const current = await exchange.services.currentLimits.get(exchange.requireCaller())
    exchange.json(200, { data: toRateLimitsBody(current) })
  },
}

function toRateLimitsBody({ accessPermitted, tier, balancesNano, ...current }: CurrentLimits) {
  return {
    accessPermitted,
    apiTier: { id: tier, isCharged: true },
    balances: Object.fromEntries(
      Object.entries(balancesNano).map(([currency, amountNano]) => [
        currency.toUpperCase(),
        // Reading the exact decimal gives the nearest number; a division would round twice.
        Number(formatUsd(amountNano)),
      ]),
    ),
    keyExpiration: current.keyExpiresAt?.toISOString() ?? null,
    nextEpochBegins: current.nextEpochAt.toISOString(),
    rateLimits: current.limits.map(({ subject, amounts }) => ({ apiModelId: subject, rateLimits: amounts })),
  }
}
