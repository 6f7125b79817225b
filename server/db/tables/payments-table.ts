import type { Selectable } from 'kysely'

/** Payments by wallets, one row per signed amount: whatever is repeated, in whatever spelling, meets the same row. */
export interface PaymentsTable {
  payment_id: string
  network: string
  /** Canonical per chain; unique with the network. */
  claim_key: string
  /** What the chain takes once, whatever amounts were signed for it. */
  nonce_key: string
  state: 'received' | 'verified' | 'settling' | 'settled' | 'credited' | 'refused' | 'failed' | 'dead'
  payer_chain: 'evm' | 'solana'
  payer_address: string
  asset: string
  pay_to: string
  amount_atomic: bigint
  valid_until: Date | null
  /** The payment in x402 version 2, as JSON text. */
  wire: string
  digest: string
  transaction_id: string | null
  /** Every transaction that was told while settling, oldest first. */
  told_transaction_ids: string[]
  /** Present from `settled` on; unique with network and transaction: one transfer pays one payment. */
  transfer_index: number | null
  /** The amount that the chain moved; present with `transfer_index`. */
  transfer_atomic: bigint | null
  reason: string | null
  /** For 24 hours: the payer's other payments under it get this one's answer. */
  idempotency_key: string | null
  account_id: string | null
  balance_after_nano: bigint | null
  received_at: Date
  updated_at: Date
  /** When the reconciler looks at it next; a running request keeps moving it on. Null: never again. */
  look_at: Date | null
  looks: number
  /** Network of the client that sent it, for 24 hours: settlements that failed count against it. */
  client_network: string | null
  /** When a credited transfer is checked again; null once it is final. */
  recheck_at: Date | null
  rechecks: number
  /** Checks in a row that did not find the credited transfer. */
  missing_checks: number
  /** Since when the chain does not show the credited transfer any more. */
  disappeared_at: Date | null
  /** What an operator took back, because the transfer disappeared. */
  corrected_nano: bigint | null
  corrected_at: Date | null
}

export type PaymentRow = Selectable<PaymentsTable>
