import type { Selectable } from 'kysely'

/** Payments by wallets, one row per signed amount: every repeat, in any spelling, finds the same row. */
export interface PaymentsTable {
  payment_id: string
  network: string
  /** Canonical per chain; unique with the network. */
  claim_key: string
  /** The nonce that the chain accepts once, for any of the amounts signed under it. */
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
  /** Every transaction id reported while settling, oldest first. */
  told_transaction_ids: string[]
  /** Present from `settled` on; unique with network and transaction, so one transfer pays for one payment. */
  transfer_index: number | null
  /** The amount that the chain moved; present with `transfer_index`. */
  transfer_atomic: bigint | null
  reason: string | null
  /** For 24 hours: the payer's other payments under this key get this one's response. */
  idempotency_key: string | null
  account_id: string | null
  balance_after_nano: bigint | null
  received_at: Date
  updated_at: Date
  /** Time of the reconciler's next check, which a running request keeps postponing. Null: never again. */
  look_at: Date | null
  looks: number
  /** Network of the client that sent it, for 24 hours: failed settlements count against that network. */
  client_network: string | null
  /** When a credited transfer is checked again; null once it is final. */
  recheck_at: Date | null
  rechecks: number
  /** Consecutive checks that did not find the credited transfer. */
  missing_checks: number
  /** Since when the credited transfer is missing from the chain. */
  disappeared_at: Date | null
  /** The amount that an operator took back because the transfer disappeared. */
  corrected_nano: bigint | null
  corrected_at: Date | null
}

export type PaymentRow = Selectable<PaymentsTable>
