import type { AccountTier } from '../caller.ts'
import type { Balance } from '../ledger/ledger.ts'

/** A paying account: created by the operator (`user`), or by a wallet's payment (`wallet`). */
export interface Account {
  id: string
  name: string
  kind: 'user' | 'wallet'
  tier: AccountTier
  /** Daily DIEM allowance. */
  stakeDiemNano: bigint
  wallet: { chain: 'evm' | 'solana'; address: string } | null
  createdAt: Date
  suspension: { since: Date; reason: string } | null
}

export interface AccountWithBalances extends Account {
  balances: Balance[]
}
