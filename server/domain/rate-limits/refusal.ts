/** The limit that rejected: requests or tokens per minute, RPC credits per day, or the block after too many failures. */
export const RATE_LIMIT_TYPES_LOGGED = ['RPM', 'TPM', 'RPD', 'FAILED_REQUESTS'] as const
export type RateLimitType = (typeof RATE_LIMIT_TYPES_LOGGED)[number]

export interface RefusedRequest {
  accountId: string
  /** Null for a wallet. */
  apiKeyId: string | null
  /** Model id, `endpoint:<path>`, or `model:unknown`. */
  subject: string
  /** XS to L for a text model, otherwise the account's tier. */
  rateLimitTier: string
  rateLimitType: RateLimitType
}

export interface Refusal extends RefusedRequest {
  /** Time-ordered. */
  id: string
  at: Date
}

export interface RefusalRecorder {
  /** Never throws and never delays the response. */
  record(refused: RefusedRequest): void
}
