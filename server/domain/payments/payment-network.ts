import type { WalletAddress } from '../wallets/wallet-address.ts'
import type { PaymentEnvelope } from './payment-envelope.ts'

export interface PaymentRequirement {
  scheme: 'exact'
  /** CAIP-2 name. */
  network: string
  /** Base units of the asset, in decimal. */
  amount: string
  asset: string
  payTo: string
  maxTimeoutSeconds: number
  /** EVM: `name` and `version` of the token's EIP-712 domain; Solana: `feePayer`. */
  extra: Record<string, string>
}

/**
 * A payment with valid shape, scheme, network, asset, payee and amount. Plain data: the machine stores it and passes it
 * back after a restart.
 */
export interface SignedPayment {
  network: string
  payer: WalletAddress
  asset: string
  payTo: string
  /** Base units of the asset. */
  amountAtomic: bigint
  /**
   * Identifies the payment, including the signed amount; equal for every textual variant of it. Unique together with the
   * network.
   */
  claimKey: string
  /** Identifies what the chain accepts only once, whatever amounts the payer signs for it. */
  nonceKey: string
  /** From then on the chain rejects it; null if only the chain knows (Solana's blockhash). */
  validUntil: Date | null
  /**
   * The payment in x402 version 2, with its numbers, addresses and bytes in canonical form: JSON for a facilitator and
   * for later checks.
   */
  wire: PaymentWire
}

export interface PaymentWire {
  x402Version: 2
  accepted: PaymentRequirement
  payload: Record<string, unknown>
}

export type PaymentVerdict =
  | { valid: true }
  /**
   * `mayBePaid`: false for an invalid signature; true if the payer signed, so that somebody may have put it on the chain
   * or still may.
   */
  | { valid: false; reason: string; mayBePaid: boolean }

export type SettleOutcome =
  /** `fee`: the actual cost in the chain's smallest unit, if known. */
  | { kind: 'settled'; transactionId: string; fee?: bigint }
  /** This attempt certainly did not put it on the chain. Only `lookUp` knows whether somebody else did. */
  | { kind: 'failed'; reason: string; fee?: bigint }
  /** It may be on the chain, now or later: a timeout, a lost connection, no receipt in time. */
  | { kind: 'unknown'; reason: string }

export interface ChainTransfer {
  transactionId: string
  /** Distinguishes transfers of one transaction: position among the logs on EVM, among the instructions on Solana. */
  transferIndex: number
  payer: WalletAddress
  amountAtomic: bigint
}

export type CreditedTransfer = Pick<ChainTransfer, 'transactionId' | 'transferIndex'>

export type ChainOutcome =
  | { kind: 'paid'; transfer: ChainTransfer }
  /**
   * `failedTransactionIds`: transactions of ours that a block contains without effect. `sent`: the node knows a pending
   * transaction for the payment, so another settlement attempt would only cost fees. `perhaps`: the node does not know a
   * submitted transaction, which may never have been sent or may still arrive.
   */
  | { kind: 'pending'; sent: boolean | 'perhaps'; failedTransactionIds?: readonly string[] }
  /** Can never be paid: expired or cancelled unused, beyond a margin for reorganizations. */
  | { kind: 'impossible'; reason: string; failedTransactionIds?: readonly string[] }

/** Whether the chain still shows a credited transfer. */
export type TransferStanding =
  /** Too deep for any reorganization to undo. */
  | { kind: 'final' }
  | { kind: 'present' }
  /** A reorganization moved it to another transaction or position. */
  | { kind: 'moved'; transfer: ChainTransfer }
  | { kind: 'missing' }

/** The operator's limits on settlement costs, in the chain's smallest unit. */
export interface FeeBudget {
  perDay: bigint
  /** Name and decimals of the display unit: ETH, SOL. */
  currency: string
  decimals: number
}

/** Reserves the maximum cost of a transaction before it is signed. Fails if the day's budget does not cover it. */
export type ReserveFee = (amount: bigint) => Promise<void>

/** The operator's budget does not cover a transaction. Any other reservation failure is no evidence about the payment. */
export class FeeBudgetError extends Error {
  override readonly name = 'FeeBudgetError'
}

export interface LookUpHints {
  /**
   * Transactions submitted while settling, oldest first; each may have replaced the previous one, or never have been
   * sent.
   */
  transactionIds: readonly string[]
  receivedAt: Date
}

/**
 * One chain that receives payments. Every method but `read` may query the chain's node, and throws if it does not
 * respond.
 */
export interface PaymentNetwork {
  /** CAIP-2: `eip155:8453` or `solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp`. */
  readonly network: string
  /** Null if somebody else pays the fees. */
  readonly feeBudget: FeeBudget | null
  requirement(amountAtomic: bigint): Promise<PaymentRequirement>
  /**
   * The claim key of a payment that may have been accepted under earlier terms; null if it cannot be determined. No I/O.
   */
  claimKeyOf(envelope: PaymentEnvelope): string | null
  /** No I/O. Fails with the coded payment errors of `payment-errors.ts`. */
  read(envelope: PaymentEnvelope): SignedPayment
  /** Checks signature, time window and funds: whether the chain would accept it now. */
  verify(payment: SignedPayment): Promise<PaymentVerdict>
  /** Takes up to 30 s. Reports the transaction id as soon as it is known, if possible before sending. Never throws. */
  settle(
    payment: SignedPayment,
    onTransaction: (transactionId: string) => Promise<void>,
    reserveFee?: ReserveFee,
  ): Promise<SettleOutcome>
  /**
   * Replaces a pending transaction of ours by one with a higher fee, if fees have risen; reports the new id as `settle`
   * does. The chain accepts only one of the two. Absent on chains without long waits.
   */
  raiseFee?(
    hints: LookUpHints,
    onTransaction: (transactionId: string) => Promise<void>,
    reserveFee?: ReserveFee,
  ): Promise<void>
  /**
   * Finds the payment through our own node, checking asset, payer, payee, exact amount and success. Works without a
   * transaction id.
   */
  lookUp(payment: SignedPayment, hints: LookUpHints): Promise<ChainOutcome>
  /** Whether the chain still shows a credited transfer. */
  recheck(payment: SignedPayment, transfer: CreditedTransfer, hints: LookUpHints): Promise<TransferStanding>
  /**
   * Problems that prevent payments, as sentences for the operator: wrong chain, no gas, no token account. Empty if there
   * are none.
   */
  inspect(): Promise<string[]>
}
