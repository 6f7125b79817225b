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

/** Who pays the fee and sends the transaction: this process, or a service behind a URL. */
export interface SolanaFacilitator {
  /** Known from the start only where the key is our own. */
  readonly fixedFeePayer: string | null
  feePayer(): Promise<string>
  /** The only transaction that can carry the message, where that is known: our own signature of it. */
  transactionIdOf(message: TransferMessage): string | null
  verify(payment: SignedPayment, message: TransferMessage): Promise<PaymentVerdict>
  settle(payment: SignedPayment, message: TransferMessage, hooks: SettlementHooks): Promise<SettleOutcome>
  /** What keeps it from working, for the operator. */
  inspect(): Promise<string[]>
}
