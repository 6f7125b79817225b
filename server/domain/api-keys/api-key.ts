import type { ApiKeyType, ModelPrivacy } from '../caller.ts'

export const LIMIT_PERIODS = ['EPOCH', 'MONTH', 'LIFETIME'] as const
/** EPOCH resets every UTC day, MONTH on the 1st of each UTC month, LIFETIME never. */
export type LimitPeriod = (typeof LIMIT_PERIODS)[number]

/** Spending caps per limit period in nano-USD; null means no cap, 0n blocks the currency. */
export interface ConsumptionLimits {
  usdNano: bigint | null
  diemNano: bigint | null
}

/** An API key without its secret, which is shown only once and stored only as a keyed hash. */
export interface ApiKey {
  id: string
  accountId: string
  type: ApiKeyType
  description: string
  limits: ConsumptionLimits
  limitPeriod: LimitPeriod
  modelPrivacy: ModelPrivacy
  last6Chars: string
  createdAt: Date
  expiresAt: Date | null
  lastUsedAt: Date | null
  revokedAt: Date | null
}
