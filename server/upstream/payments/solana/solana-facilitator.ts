import type {
  PaymentVerdict,
  ReserveFee,
  SettleOutcome,
  SignedPayment,
} from '../../../domain/payments/payment-network.ts'
import type { TransferMessage } from './transfer-message.ts'

export type TellTransaction = (transactionId: string) => Promise<void>

/** Called before anything is sent. */
export interface SettlementHooks {
  tell: TellTransaction
  reserveFee: ReserveFee
}

/** Pays the fee and sends the transaction: this process, or a service behind a URL. */
export interface SolanaFacilitator {
  /** Known from the start only if the key is the operator's own. */
  readonly fixedFeePayer: string | null
  feePayer(): Promise<string>
  /** The only transaction that can carry the message, if it is known: the one signed by the operator's key. */
  transactionIdOf(message: TransferMessage): string | null
  verify(payment: SignedPayment, message: TransferMessage): Promise<PaymentVerdict>
  settle(payment: SignedPayment, message: TransferMessage, hooks: SettlementHooks): Promise<SettleOutcome>
  /** Problems that keep it from working, for the operator. */
  inspect(): Promise<string[]>
}
