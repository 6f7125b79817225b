import { z } from 'zod'
import type { TierLimits } from './rate-limits/limit-table.ts'

/** Far above any real limit, and exact in every store. */
const LIMIT_MAX = 1_000_000_000_000

const Amount = z.int().min(1).max(LIMIT_MAX).exactOptional()
const RequestLimits = z.strictObject({ requestsPerMinute: Amount }).exactOptional()
const TextLimits = z.strictObject({ requestsPerMinute: Amount, tokensPerMinute: Amount }).exactOptional()

/** Limits that an operator set for one account or API key; absent ones are not set. */
export const LimitOverrides = z.strictObject({
  text: z.strictObject({ XS: TextLimits, S: TextLimits, M: TextLimits, L: TextLimits }).exactOptional(),
  image: RequestLimits,
  audio: RequestLimits,
  embedding: RequestLimits,
  videoQueue: RequestLimits,
  videoRetrieve: RequestLimits,
  rpc: z.strictObject({ requestsPerMinute: Amount, creditsPer24Hours: Amount }).exactOptional(),
})
export type LimitOverrides = z.output<typeof LimitOverrides>

/** The overrides for a caller: the account's override the tier's limits, the key's apply in addition. */
export interface CallerLimitOverrides {
  account: LimitOverrides | null
  key: LimitOverrides | null
}

export function withOverrides(limits: TierLimits, overrides: LimitOverrides): TierLimits {
  const { text, image, audio, embedding, videoQueue, videoRetrieve, rpc } = limits
  return {
    text: {
      XS: { ...text.XS, ...overrides.text?.XS },
      S: { ...text.S, ...overrides.text?.S },
      M: { ...text.M, ...overrides.text?.M },
      L: { ...text.L, ...overrides.text?.L },
    },
    image: { ...image, ...overrides.image },
    audio: { ...audio, ...overrides.audio },
    embedding: { ...embedding, ...overrides.embedding },
    videoQueue: { ...videoQueue, ...overrides.videoQueue },
    videoRetrieve: { ...videoRetrieve, ...overrides.videoRetrieve },
    rpc: { ...rpc, ...overrides.rpc },
  }
}
