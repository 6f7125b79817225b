import { z } from 'zod'
import type { TierLimits } from './rate-limits/limit-table.ts'

/** Far above any real limit, and exact in every store. */
const LIMIT_MAX = 1_000_000_000_000

const Amount = z.int().min(1).max(LIMIT_MAX).exactOptional()
const RequestLimits = z.strictObject({ requestsPerMinute: Amount }).exactOptional()
const TextLimits = z.strictObject({ requestsPerMinute: Amount, tokensPerMinute: Amount }).exactOptional()

/** Numbers of the table of limits that an operator set for one account or one API key; what is absent is not set. */
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

/** What an operator set for a caller: on the account it stands in place of the tier's numbers, on the key beside them. */
export interface CallerLimitOverrides {
  account: LimitOverrides | null
  key: LimitOverrides | null
}

/** The limits of a tier with an account's own numbers in their place. */
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
