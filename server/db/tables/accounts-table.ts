import type { ColumnType, Generated, Selectable } from 'kysely'
import type { LimitOverrides } from '../../domain/limit-overrides.ts'

export interface AccountsTable {
  account_id: string
  name: string
  kind: 'user' | 'wallet'
  tier: 'standard' | 'partner' | 'staff'
  /** Daily DIEM allowance. */
  stake_diem_nano: bigint
  wallet_chain: 'evm' | 'solana' | null
  wallet_address: string | null
  created_at: Date
  /** The operator's replacements for the tier's limits. */
  limit_overrides: ColumnType<LimitOverrides | null, string | null | undefined, string | null>
  /** Start of the suspension; null while the account is active. */
  suspended_at: Generated<Date | null>
  suspended_reason: Generated<string | null>
}

export type AccountRow = Selectable<AccountsTable>
