import type { Selectable } from 'kysely'

export const LEDGER_TRANSFER_KINDS = [
  'grant',
  'correction',
  'charge',
  'top_up',
  'refund',
  'diem_allowance',
  'diem_expiry',
  'transfer',
] as const

/** Append-only double entry: each row moves an amount out of one ledger account into another, so each sums to zero. */
export interface LedgerTransfersTable {
  account_id: string
  currency: 'usd' | 'diem'
  sequence: bigint
  transfer_id: string
  kind: (typeof LEDGER_TRANSFER_KINDS)[number]
  /** `customer` or one of the platform's accounts, such as `platform:revenue`. */
  debit_account: string
  credit_account: string
  amount_nano: bigint
  /** The customer's balance right after the transfer. */
  balance_after_nano: bigint
  request_id: string | null
  /** Unique per account if present: a grant or a top-up posts only once. */
  reference: string | null
  reason: string | null
  created_at: Date
}

export type LedgerTransferRow = Selectable<LedgerTransfersTable>
