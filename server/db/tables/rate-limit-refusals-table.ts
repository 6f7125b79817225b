import type { Selectable } from 'kysely'

/** Requests that were rate-limited; the newest of each account are kept. */
export interface RateLimitRefusalsTable {
  account_id: string
  /** Time-ordered. */
  refusal_id: string
  key_id: string | null
  subject: string
  tier: string
  type: 'RPM' | 'TPM' | 'RPD' | 'FAILED_REQUESTS'
  refused_at: Date
}

export type RateLimitRefusalRow = Selectable<RateLimitRefusalsTable>
