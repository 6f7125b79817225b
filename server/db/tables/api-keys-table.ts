import type { ColumnType, Selectable } from 'kysely'
import type { LimitOverrides } from '../../domain/limit-overrides.ts'

export interface ApiKeysTable {
  account_id: string
  key_id: string
  /** HMAC-SHA256 of the secret with the server's pepper, hexadecimal. */
  key_hash: string
  type: 'INFERENCE' | 'ADMIN'
  description: string
  /** numeric, as decimal text; the largest limits exceed 64 bits. */
  limit_usd_nano: string | null
  limit_diem_nano: string | null
  limit_period: 'EPOCH' | 'MONTH' | 'LIFETIME'
  model_privacy: 'ALL' | 'PRIVATE_TEXT' | 'PRIVATE_ONLY'
  last6_chars: string
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  /** The operator's limits for this key, in addition to the account's. */
  limit_overrides: ColumnType<LimitOverrides | null, string | null | undefined, string | null>
  /**
   * Creation time by the database's clock, which the creation limit counts; null for a key that an operator created.
   */
  counted_at: ColumnType<Date | null, Date | null | undefined, never>
}

export type ApiKeyRow = Selectable<ApiKeysTable>
