import { sign } from 'node:crypto'
import { base58 } from '@scure/base'
import { z } from 'zod'
import type { PaymentVerdict, SettleOutcome, SignedPayment } from '../../../domain/payments/payment-network.ts'
import type { SolanaSecret } from '../../../domain/wallets/solana-secret.ts'
import { feeOf } from './payment-transfer.ts'
import type { SettlementHooks, SolanaFacilitator } from './solana-facilitator.ts'
import { COMMITMENT } from './solana-ledger-reader.ts'
import { type SolanaRpc, SolanaRpcError } from './solana-rpc.ts'
import { type TransferMessage, writeTransaction } from './transfer-message.ts'

const POLL_MS = 500
/** 30 s in all. A leader may drop a transaction, so it is sent again every 2 s; the chain accepts it only once. */
const POLLS_MAX = 60
const POLLS_PER_SEND = 4
const PREFLIGHT_FAILED = -32_002
const ALREADY_PROCESSED = 'AlreadyProcessed'
const FEE_PAYER_MISMATCH = 'fee_payer_mismatch'
/** Two signatures at 5,000 lamports and the priority fee, for a hundred payments. */
const LAMPORTS_MIN = 11_000_000

const Simulation = z.object({ value: z.object({ err: z.unknown() }) })
const Status = z.object({ err: z.unknown(), confirmationStatus: z.string().nullable().optional() })
type Status = z.infer<typeof Status>
const Statuses = z.object({ value: z.array(Status.nullable()) })
const Balance = z.object({ value: z.number() })

interface Parts {
  secret: SolanaSecret
  rpc: SolanaRpc
  wait: (milliseconds: number) => Promise<void>
}

/**
 * Pays the fee with the operator's own key. Signing is deterministic, so a payment has one transaction id, known before
 * it is sent.
 */
export class LocalSolanaFacilitator implements SolanaFacilitator {
  readonly fixedFeePayer: string
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
    this.fixedFeePayer = parts.secret.address
  }

  feePayer(): Promise<string> {
    return Promise.resolve(this.fixedFeePayer)
  }

  /** Null for a payment that names another fee payer: it was offered before the operator changed the key. */
  transactionIdOf(message: TransferMessage): string | null {
    return this.#isFeePayerOf(message) ? base58.encode(this.#sign(message)) : null
  }

  /** Simulates it fully signed, because a node recognizes a processed transaction by its signature. */
  async verify(_payment: SignedPayment, message: TransferMessage): Promise<PaymentVerdict> {
    if (!this.#isFeePayerOf(message)) return { valid: false, reason: FEE_PAYER_MISMATCH, mayBePaid: true }
    const wire = writeTransaction(message, this.#sign(message)).toString('base64')
    const options = { encoding: 'base64', commitment: COMMITMENT, sigVerify: false }
    const { value } = await this.#parts.rpc.call('simulateTransaction', [wire, options], Simulation)
    if (value.err === null) return { valid: true }
    // Only this key can submit it: if it was not processed already, it never will be.
    return { valid: false, reason: failureText(value.err), mayBePaid: value.err === ALREADY_PROCESSED }
  }

  async settle(
    _payment: SignedPayment,
    message: TransferMessage,
    { tell, reserveFee }: SettlementHooks,
  ): Promise<SettleOutcome> {
    if (!this.#isFeePayerOf(message)) return { kind: 'failed', reason: FEE_PAYER_MISMATCH }
    await reserveFee(feeOf(message))
    const signature = this.#sign(message)
    const wire = writeTransaction(message, signature).toString('base64')
    const transactionId = base58.encode(signature)
    await tell(transactionId)
    const refused = await this.#send(wire, { skipPreflight: false })
    return refused ?? this.#confirm(transactionId, wire)
  }

  async inspect(): Promise<string[]> {
    const { value } = await this.#parts.rpc.call('getBalance', [this.fixedFeePayer], Balance)
    if (value >= LAMPORTS_MIN) return []
    return [`the facilitator ${this.fixedFeePayer} has only ${value} lamports; fund it with at least ${LAMPORTS_MIN}`]
  }

  #isFeePayerOf({ feePayer }: TransferMessage): boolean {
    return feePayer === this.fixedFeePayer
  }

  #sign({ bytes }: TransferMessage): Buffer {
    return sign(null, bytes, this.#parts.secret.key)
  }

  /** The node simulates it first, so a failing one costs no fee. */
  async #send(wire: string, options: { skipPreflight: boolean }): Promise<SettleOutcome | undefined> {
    const sent = { encoding: 'base64', preflightCommitment: COMMITMENT, maxRetries: 0, ...options }
    try {
      await this.#parts.rpc.call('sendTransaction', [wire, sent], z.string())
      return undefined
    } catch (error) {
      if (!(error instanceof SolanaRpcError) || error.code !== PREFLIGHT_FAILED) throw error
      const cause = z.object({ err: z.unknown() }).safeParse(error.data).data?.err
      if (cause === ALREADY_PROCESSED) return undefined
      return { kind: 'failed', reason: cause === undefined ? 'simulation_failed' : failureText(cause) }
    }
  }

  async #confirm(transactionId: string, wire: string): Promise<SettleOutcome> {
    for (let poll = 1; poll <= POLLS_MAX; poll++) {
      const status = await this.#status(transactionId)
      // A reorganization may still undo an error, too; the later check shows when it is final.
      if (status?.err !== null && status?.err !== undefined) {
        return { kind: 'unknown', reason: failureText(status.err) }
      }
      if (status?.confirmationStatus === 'confirmed' || status?.confirmationStatus === 'finalized') {
        return { kind: 'settled', transactionId }
      }
      await this.#parts.wait(POLL_MS)
      if (poll % POLLS_PER_SEND === 0) await this.#send(wire, { skipPreflight: true }).catch(() => undefined)
    }
    return { kind: 'unknown', reason: 'settlement_pending' }
  }

  /** A node that does not respond once may respond the next time. */
  async #status(transactionId: string): Promise<Status | null | undefined> {
    try {
      const { value } = await this.#parts.rpc.call('getSignatureStatuses', [[transactionId]], Statuses)
      return value[0]
    } catch {
      return undefined
    }
  }
}

function failureText(err: unknown): string {
  return typeof err === 'string' ? err : JSON.stringify(err)
}
