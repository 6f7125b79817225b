import type { AccountTier } from '../caller.ts'
import type { Balance } from '../ledger/ledger.ts'

/** Whoever pays: an account that the operator made (`user`) or one that a wallet made by paying (`wallet`). */
export interface Account {
  id: string
  name: string
  kind: 'user' | 'wallet'
  tier: AccountTier
  /** Daily DIEM allowance. */
  stakeDiemNano: bigint
  wallet: { chain: 'evm' | 'solana'; address: string } | null
  createdAt: Date
  /** Set while the account may do nothing. */
  suspension: { since: Date; reason: string } | null
}

export interface AccountWithBalances extends Account {
  balances: Balance[]
}
