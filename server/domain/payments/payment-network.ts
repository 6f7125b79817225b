import type { WalletAddress } from '../wallets/wallet-address.ts'
import type { PaymentEnvelope } from './payment-envelope.ts'

/** One entry of `accepts`, as x402 writes it. */
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

/** A payment whose shape, scheme, network, asset, payee and amount were found right. Plain data: the machine stores it and hands it back after a restart. */
export interface SignedPayment {
  network: string
  payer: WalletAddress
  asset: string
  payTo: string
  /** Base units of the asset. */
  amountAtomic: bigint
  /**
   * Says which payment it is, the signed amount included; the same for every textual variant of it. Unique together with
   * the network.
   */
  claimKey: string
  /** What the chain takes once, whatever amounts the payer signs for it. */
  nonceKey: string
  /** From here on the chain refuses it; null where the chain alone knows (Solana's blockhash). */
  validUntil: Date | null
  /** The payment in x402 version 2, with its numbers, addresses and bytes in canonical form: JSON for a facilitator and for later look-ups. */
  wire: PaymentWire
}

export interface PaymentWire {
  x402Version: 2
  accepted: PaymentRequirement
  payload: Record<string, unknown>
}

export type PaymentVerdict =
  | { valid: true }
  /** `mayBePaid`: the payer did sign it, so that somebody may have put it on the chain, or may yet; false for a wrong signature. */
  | { valid: false; reason: string; mayBePaid: boolean }

export type SettleOutcome =
  /** `fee`: what it cost, in the chain's smallest unit, where that is known. */
  | { kind: 'settled'; transactionId: string; fee?: bigint }
  /** Surely not on the chain by this attempt. Whether somebody else put it there, only `lookUp` says. */
  | { kind: 'failed'; reason: string; fee?: bigint }
  /** It may be on the chain, now or later: a timeout, a lost connection, no receipt in time. */
  | { kind: 'unknown'; reason: string }

/** One transfer of the asset as the chain shows it. */
export interface ChainTransfer {
  transactionId: string
  /** Tells transfers of one transaction apart: its place among the logs on EVM, among the instructions on Solana. */
  transferIndex: number
  payer: WalletAddress
  amountAtomic: bigint
}

/** Where a credited transfer was seen. */
export type CreditedTransfer = Pick<ChainTransfer, 'transactionId' | 'transferIndex'>

export type ChainOutcome =
  | { kind: 'paid'; transfer: ChainTransfer }
  /**
   * `failedTransactionIds`: transactions of ours that a block holds without effect. `sent`: the node knows a transaction that waits to pay it; another attempt to settle would only cost fees. `perhaps`:
   * it does not know one that was told, which may never have been sent, or come later all the same.
   */
  | { kind: 'pending'; sent: boolean | 'perhaps'; failedTransactionIds?: readonly string[] }
  /** Never to be paid any more: expired or cancelled without use, past a margin for reorganisations. */
  | { kind: 'impossible'; reason: string; failedTransactionIds?: readonly string[] }

/** Whether the chain still shows a transfer that was credited. */
export type TransferStanding =
  /** Deep enough that nothing undoes it. */
  | { kind: 'final' }
  | { kind: 'present' }
  /** A reorganization put it into another transaction, or at another place. */
  | { kind: 'moved'; transfer: ChainTransfer }
  | { kind: 'missing' }

/** What settlements on a chain may cost the operator, in the chain's smallest unit. */
export interface FeeBudget {
  perDay: bigint
  /** Name and decimals of the unit for people: ETH, SOL. */
  currency: string
  decimals: number
}

/** Reserves what a transaction may cost before it is signed. Fails when the budget of the day does not cover it. */
export type ReserveFee = (amount: bigint) => Promise<void>

/** The operator's budget does not cover a transaction; any other failure of a reservation is no evidence about the payment. */
export class FeeBudgetError extends Error {
  override readonly name = 'FeeBudgetError'
}

/** What the look-up may lean on beside the payment itself. */
export interface LookUpHints {
  /** The transactions that were told while settling, oldest first; each may have replaced the one before, or never have been sent. */
  transactionIds: readonly string[]
  receivedAt: Date
}

/** One chain on which payments arrive. Every method but `read` may reach the chain's node, and throws when it does not answer. */
export interface PaymentNetwork {
  /** CAIP-2: `eip155:8453` or `solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp`. */
  readonly network: string
  /** Null: somebody else pays the fees. */
  readonly feeBudget: FeeBudget | null
  /** The `accepts` entry for an amount. */
  requirement(amountAtomic: bigint): Promise<PaymentRequirement>
  /** Of a payment that may have been taken under other terms than today's; null where it cannot be told. No I/O. */
  claimKeyOf(envelope: PaymentEnvelope): string | null
  /** No I/O. Fails with the coded payment errors of `payment-errors.ts`. */
  read(envelope: PaymentEnvelope): SignedPayment
  /** Signature, time window, funds: whether the chain would take it now. */
  verify(payment: SignedPayment): Promise<PaymentVerdict>
  /** Takes up to 30 s. The transaction id is told as soon as it is known, before it is sent where that can be. Never throws. */
  settle(
    payment: SignedPayment,
    onTransaction: (transactionId: string) => Promise<void>,
    reserveFee?: ReserveFee,
  ): Promise<SettleOutcome>
  /**
   * Replaces a transaction of ours that waits because fees rose since, by one that offers more; the other is told as by
   * `settle`, and the chain takes one of them. Absent where none waits for long.
   */
  raiseFee?(
    hints: LookUpHints,
    onTransaction: (transactionId: string) => Promise<void>,
    reserveFee?: ReserveFee,
  ): Promise<void>
  /** What the chain says, by our own node: asset, payer, payee, exact amount and success. Works without a transaction id. */
  lookUp(payment: SignedPayment, hints: LookUpHints): Promise<ChainOutcome>
  /** Whether the chain still shows a transfer that was credited. */
  recheck(payment: SignedPayment, transfer: CreditedTransfer, hints: LookUpHints): Promise<TransferStanding>
  /** What keeps payments from working, in sentences for the operator: wrong chain, no gas, no token account. Empty: nothing. */
  inspect(): Promise<string[]>
}
