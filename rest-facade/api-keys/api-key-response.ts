import type { ApiKey } from '../../server/domain/api-keys/api-key.ts'
import type { IssuedApiKey } from '../../server/domain/api-keys/api-key-issuer.ts'
import type { ApiKeyWithUsage } from '../../server/domain/api-keys/api-key-service.ts'
import { formatUsdFixed } from '../../server/domain/money.ts'
import { toConsumptionLimit } from './consumption-limit.ts'

const USAGE_DECIMALS = 4

/** The answer that shows a secret, once; its limits are named in the singular, unlike everywhere else. */
export function toCreatedKey({ key, secret }: IssuedApiKey) {
  return {
    id: key.id,
    apiKey: secret,
    apiKeyType: key.type,
    description: key.description,
    consumptionLimit: toConsumptionLimit(key.limits),
    limitPeriod: key.limitPeriod,
    modelPrivacy: key.modelPrivacy,
    expiresAt: toInstant(key.expiresAt),
  }
}

export function toUpdatedKey(key: ApiKey) {
  return {
    id: key.id,
    apiKeyType: key.type,
    description: key.description,
    consumptionLimits: toConsumptionLimit(key.limits),
    limitPeriod: key.limitPeriod,
    modelPrivacy: key.modelPrivacy,
    createdAt: toInstant(key.createdAt),
    expiresAt: toInstant(key.expiresAt),
    last6Chars: key.last6Chars,
    lastUsedAt: toInstant(key.lastUsedAt),
  }
}

export function toListedKey(key: ApiKeyWithUsage) {
  const { trailingSevenDays, currentPeriod } = key.usage
  return {
    ...toUpdatedKey(key),
    usage: {
      trailingSevenDays: {
        usd: toAmount(trailingSevenDays.usdNano),
        vcu: toAmount(0n),
        diem: toAmount(trailingSevenDays.diemNano),
      },
    },
    currentPeriodUsage: { usd: toAmount(currentPeriod.usdNano), diem: toAmount(currentPeriod.diemNano) },
  }
}

function toInstant(instant: Date | null): string | null {
  return instant === null ? null : instant.toISOString()
}

function toAmount(amountNano: bigint): string {
  return formatUsdFixed(amountNano, USAGE_DECIMALS)
}
