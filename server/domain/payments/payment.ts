import type { ChainTransfer, SignedPayment } from './payment-network.ts'

/**
 * received → verified → settling → settled → credited, each stored before the next step outside. `refused` (the chain
 * would not take it) and `failed` (the attempt to settle surely failed) may still be paid by somebody else until `dead`:
 * then it is proven that they never will.
 */
export const PAYMENT_STATES = [
  'received',
  'verified',
  'settling',
  'settled',
  'credited',
  'refused',
  'failed',
  'dead',
] as const
export type PaymentState = (typeof PAYMENT_STATES)[number]

/** States in which nobody knows yet how the payment ends: an answer may only say that it is pending. */
export const UNRESOLVED_STATES = ['received', 'verified', 'settling', 'settled'] as const satisfies PaymentState[]

export interface Payment {
  id: string
  state: PaymentState
  signed: SignedPayment
  /** Tells textual variants of one payment apart, whose signatures may differ in worth. */
  digest: string
  /** The newest that was told while settling; from `settled` on the one that the chain shows. */
  transactionId: string | null
  /** All that were told, oldest first; a block may take each of them, but only one. */
  submittedTransactionIds: readonly string[]
  transferIndex: number | null
  /** The amount that the chain moved, which is credited; present from `settled` on. */
  transferAtomic: bigint | null
  /** Why it was refused, failed or died, in the words of the chain or the facilitator. */
  reason: string | null
  /** Set with the credit. */
  accountId: string | null
  balanceAfterNanoUsd: bigint | null
  /** Null: none was sent, or its time is over. */
  idempotencyKey: string | null
  receivedAt: Date
  looks: number
  /** Network of the client that sent it, for 24 hours. */
  clientNetwork: string | null
  /** Since when the chain does not show the credited transfer any more. */
  disappearedAt: Date | null
  rechecks: number
  missingChecks: number
  /** What an operator took back of the credit; null: it was not corrected. */
  correctedNanoUsd: bigint | null
}

/** A change that a payment's state goes through, with what it brings. */
export type PaymentStep =
  | { to: 'verified' }
  | { to: 'settling' }
  | { to: 'settled'; transfer: ChainTransfer }
  | { to: 'refused' | 'failed' | 'dead'; reason: string }

export function isUnresolved(state: PaymentState): boolean {
  return UNRESOLVED_STATES.some((unresolved) => unresolved === state)
}
