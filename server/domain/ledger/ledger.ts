import type { LedgerTransferRow } from '../../db/tables/ledger-transfers-table.ts'
import type { Currency } from '../money.ts'

export type LedgerTransferKind = LedgerTransferRow['kind']

/** One entry between the customer and the platform; `amountNanoUsd` is positive if the customer receives it. */
export interface LedgerTransfer {
  id: string
  accountId: string
  currency: Currency
  /** Position in the account's chain of this currency, from 1. */
  sequence: bigint
  kind: LedgerTransferKind
  amountNanoUsd: bigint
  balanceAfterNanoUsd: bigint
  requestId: string | null
  reference: string | null
  reason: string | null
  createdAt: Date
}

export interface Balance {
  currency: Currency
  balanceNanoUsd: bigint
  heldNanoUsd: bigint
}

export interface AccountBalances {
  accountId: string
  balances: Balance[]
}
