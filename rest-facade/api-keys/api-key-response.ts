import { z } from 'zod'
import { type ApiKey, LIMIT_PERIODS } from '../../server/domain/api-keys/api-key.ts'
import type { IssuedApiKey } from '../../server/domain/api-keys/api-key-issuer.ts'
import type { ApiKeyWithUsage } from '../../server/domain/api-keys/api-key-service.ts'
import { API_KEY_TYPES, MODEL_PRIVACY_LEVELS } from '../../server/domain/caller.ts'
import { formatUsdFixed } from '../../server/domain/money.ts'
import { ConsumptionLimit, toConsumptionLimit } from './consumption-limit.ts'

const USAGE_DECIMALS = 4

const Instant = z.iso.datetime()

/** Fields of every body about a key. */
const KeyFields = {
  id: z.string(),
  apiKeyType: z.enum(API_KEY_TYPES),
  description: z.string(),
  limitPeriod: z.enum(LIMIT_PERIODS),
  modelPrivacy: z.enum(MODEL_PRIVACY_LEVELS),
  expiresAt: Instant.nullable(),
}

/** The only response with the secret; its limits are named in the singular, unlike everywhere else. */
export const CreatedKey = z.object({ ...KeyFields, apiKey: z.string(), consumptionLimit: ConsumptionLimit })

export const UpdatedKey = z.object({
  ...KeyFields,
  consumptionLimits: ConsumptionLimit,
  createdAt: Instant.nullable(),
  last6Chars: z.string(),
  lastUsedAt: Instant.nullable(),
})

/** Amounts have four decimals. */
export const ListedKey = UpdatedKey.extend({
  usage: z.object({ trailingSevenDays: z.object({ usd: z.string(), vcu: z.string(), diem: z.string() }) }),
  currentPeriodUsage: z.object({ usd: z.string(), diem: z.string() }),
})

export function toCreatedKey({ key, secret }: IssuedApiKey): z.output<typeof CreatedKey> {
  return { ...toKeyFields(key), apiKey: secret, consumptionLimit: toConsumptionLimit(key.limits) }
}

export function toUpdatedKey(key: ApiKey): z.output<typeof UpdatedKey> {
  return {
    ...toKeyFields(key),
    consumptionLimits: toConsumptionLimit(key.limits),
    createdAt: toInstant(key.createdAt),
    last6Chars: key.last6Chars,
    lastUsedAt: toInstant(key.lastUsedAt),
  }
}

export function toListedKey(key: ApiKeyWithUsage): z.output<typeof ListedKey> {
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

function toKeyFields({ id, type, description, limitPeriod, modelPrivacy, expiresAt }: ApiKey) {
  return { id, apiKeyType: type, description, limitPeriod, modelPrivacy, expiresAt: toInstant(expiresAt) }
}

function toInstant(instant: Date | null): string | null {
  return instant === null ? null : instant.toISOString()
}

function toAmount(amountNano: bigint): string {
  return formatUsdFixed(amountNano, USAGE_DECIMALS)
}
