import type { ChainTransfer, SignedPayment } from './payment-network.ts'

/**
 * received → verified → settling → settled → credited, each stored before the next external step. Somebody else may still
 * pay a payment that is `refused` (the chain would not accept it) or `failed` (the settlement attempt certainly failed),
 * until `dead`: then it is proven that it can never be paid.
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

/** States whose outcome is not known yet: a response may only say that the payment is pending. */
export const UNRESOLVED_STATES = ['received', 'verified', 'settling', 'settled'] as const satisfies PaymentState[]

export interface Payment {
  id: string
  state: PaymentState
  signed: SignedPayment
  /** Distinguishes textual variants of one payment, because not all signatures may be valid. */
  digest: string
  /** The newest transaction submitted while settling; from `settled` on, the one that the chain shows. */
  transactionId: string | null
  /** All submitted transactions, oldest first; only one of them can take effect. */
  submittedTransactionIds: readonly string[]
  transferIndex: number | null
  /** The amount moved on the chain, which is credited; present from `settled` on. */
  transferAtomic: bigint | null
  /** Why it was refused, failed or died, in the chain's or facilitator's words. */
  reason: string | null
  /** Null until the credit. */
  accountId: string | null
  balanceAfterNanoUsd: bigint | null
  /** Null if none was sent or it expired. */
  idempotencyKey: string | null
  receivedAt: Date
  looks: number
  /** Network of the client that sent it, kept for 24 hours. */
  clientNetwork: string | null
  /** When the chain was found to no longer show the credited transfer. */
  disappearedAt: Date | null
  rechecks: number
  missingChecks: number
  /** The part of the credit that an operator reversed; null if it was not corrected. */
  correctedNanoUsd: bigint | null
}

export type PaymentStep =
  | { to: 'verified' }
  | { to: 'settling' }
  | { to: 'settled'; transfer: ChainTransfer }
  | { to: 'refused' | 'failed' | 'dead'; reason: string }

export function isUnresolved(state: PaymentState): boolean {
  return UNRESOLVED_STATES.some((unresolved) => unresolved === state)
}
