import type { Selectable } from 'kysely'

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
}

export type AccountRow = Selectable<AccountsTable>
