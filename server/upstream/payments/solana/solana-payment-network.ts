import { createHash } from 'node:crypto'
import { z } from 'zod'
import { DomainError } from '../../../domain/errors.ts'
import type { Log } from '../../../domain/log.ts'
import type { PaymentEnvelope } from '../../../domain/payments/payment-envelope.ts'
import { paymentError } from '../../../domain/payments/payment-errors.ts'
import type {
  ChainOutcome,
  CreditedTransfer,
  FeeBudget,
  LookUpHints,
  PaymentNetwork,
  PaymentRequirement,
  PaymentVerdict,
  ReserveFee,
  SettleOutcome,
  SignedPayment,
  TransferStanding,
} from '../../../domain/payments/payment-network.ts'
import { type Merchant, type PaymentTerms, parseTransfer, readTransfer, TRANSFER_INDEX } from './payment-transfer.ts'
import type { SolanaCluster } from './solana-cluster.ts'
import type { SolanaFacilitator, TellTransaction } from './solana-facilitator.ts'
import { FINAL, type Sighting, SolanaLedgerReader, type SoughtPayment } from './solana-ledger-reader.ts'
import type { SolanaRpc } from './solana-rpc.ts'
import { tokenAccountOf } from './token-account.ts'
import { readTransferMessage, type TransferMessage, writeTransaction } from './transfer-message.ts'

export const SOLANA_MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
const MAX_TIMEOUT_SECONDS = 300

const Payload = z.strictObject({ transaction: z.base64().max(2_048) })

export interface SolanaPaymentNetworkParts {
  merchant: Merchant
  facilitator: SolanaFacilitator
  cluster: SolanaCluster
  rpc: SolanaRpc
  log: Log
  limits: SolanaLimits
}

export interface SolanaLimits {
  maxPriorityFeeLamports: number
  /** Budget for settlements in a UTC day. */
  dailyFeeLamports: number
  /** A larger payment is credited once the chain has finalized it. */
  finalizedAboveUsd: number
}

const ATOMIC_PER_USD = 1_000_000

/**
 * Payments of scheme `exact` on Solana's main network. A payment is the transaction message that its payer signed: its
 * hash is the claim.
 */
export class SolanaPaymentNetwork implements PaymentNetwork {
  readonly network = SOLANA_MAINNET
  readonly feeBudget: FeeBudget | null
  readonly #parts: SolanaPaymentNetworkParts
  readonly #ledger: SolanaLedgerReader
  readonly #terms: PaymentTerms

  constructor(parts: SolanaPaymentNetworkParts) {
    this.#parts = parts
    this.#ledger = new SolanaLedgerReader(parts.rpc)
    const { payTo, mint } = parts.merchant
    const merchantAccount = tokenAccountOf(payTo, mint)
    const { maxPriorityFeeLamports, dailyFeeLamports } = parts.limits
    const { fixedFeePayer: feePayer } = parts.facilitator
    const isOurs = feePayer !== null
    this.feeBudget = isOurs ? { perDay: BigInt(dailyFeeLamports), currency: 'SOL', decimals: 9 } : null
    this.#terms = {
      ...parts.merchant,
      merchantAccount,
      feePayer,
      maxPriorityFeeLamports: BigInt(maxPriorityFeeLamports),
    }
  }

  async requirement(amountAtomic: bigint): Promise<PaymentRequirement> {
    this.#parts.cluster.assertNotKnownWrong()
    return this.#requirement(amountAtomic, await this.#parts.facilitator.feePayer())
  }

  claimKeyOf({ payload }: PaymentEnvelope): string | null {
    const message = parsePayload(payload)
    return message === undefined ? null : hashOf(message)
  }

  read({ scheme, asset, payTo, payload }: PaymentEnvelope): SignedPayment {
    const { mint, payTo: merchant } = this.#parts.merchant
    if (scheme !== 'exact')
      throw paymentError('payment_scheme_unsupported', `Scheme ${scheme} is not supported; use exact`)
    if (asset !== null && asset !== mint) {
      throw paymentError('payment_token_unsupported', `Token ${asset} is not supported; pay with ${mint}`)
    }
    if (payTo !== null && payTo !== merchant) {
      throw paymentError('payment_recipient_wrong', `The payment is for ${payTo}; it must be for ${merchant}`)
    }
    const message = readPayload(payload)
    const { payer, amountAtomic } = readTransfer(message, this.#terms)
    return {
      network: this.network,
      payer: { chain: 'solana', address: payer },
      asset: mint,
      payTo: merchant,
      amountAtomic,
      claimKey: hashOf(message),
      // The amount is part of the message, which the chain accepts only once.
      nonceKey: hashOf(message),
      validUntil: null,
      wire: {
        x402Version: 2,
        accepted: this.#requirement(amountAtomic, message.feePayer),
        payload: { transaction: writeTransaction(message).toString('base64') },
      },
    }
  }

  async verify(payment: SignedPayment): Promise<PaymentVerdict> {
    await this.#parts.cluster.assertMainnet()
    return this.#parts.facilitator.verify(payment, readPayload(payment.wire.payload))
  }

  async settle(
    payment: SignedPayment,
    onTransaction: TellTransaction,
    reserveFee: ReserveFee = async () => {},
  ): Promise<SettleOutcome> {
    try {
      await this.#parts.cluster.assertMainnet()
      const message = readPayload(payment.wire.payload)
      return await this.#parts.facilitator.settle(payment, message, { tell: onTransaction, reserveFee })
    } catch (error) {
      this.#parts.log.warn('settling a payment was interrupted', { network: this.network, error })
      return { kind: 'unknown', reason: 'settlement_broke_off' }
    }
  }

  async lookUp(payment: SignedPayment, hints: LookUpHints): Promise<ChainOutcome> {
    await this.#parts.cluster.assertMainnet()
    const message = readPayload(payment.wire.payload)
    const sought = { message, transfer: parseTransfer(message), receivedAt: hints.receivedAt }
    const seen = await this.#see(sought, hints.transactionIds)
    if (seen !== undefined) return seen
    if (!(await this.#ledger.hasExpired(sought))) {
      return { kind: 'pending', sent: hints.transactionIds.length > 0 && 'perhaps' }
    }
    // It may have reached the chain between the two checks; from here on nothing can.
    const late = await this.#see(sought, hints.transactionIds)
    return late ?? { kind: 'impossible', reason: 'blockhash_expired' }
  }

  async recheck(
    payment: SignedPayment,
    { transactionId }: CreditedTransfer,
    hints: LookUpHints,
  ): Promise<TransferStanding> {
    await this.#parts.cluster.assertMainnet()
    const message = readPayload(payment.wire.payload)
    const sought = { message, transfer: parseTransfer(message), receivedAt: hints.receivedAt }
    const standing = await this.#ledger.standing(transactionId, sought)
    if (standing !== 'missing') return { kind: standing }
    const seen = await this.#see(sought, hints.transactionIds)
    return seen?.kind === 'paid' ? { kind: 'moved', transfer: seen.transfer } : { kind: 'missing' }
  }

  async inspect(): Promise<string[]> {
    try {
      return [...(await this.#parts.cluster.inspect()), ...(await this.#parts.facilitator.inspect())]
    } catch (error) {
      return [error instanceof DomainError ? error.message : 'its node or its facilitator does not respond']
    }
  }

  async #see(sought: SoughtPayment, told: readonly string[]): Promise<ChainOutcome | undefined> {
    const own = this.#parts.facilitator.transactionIdOf(sought.message)
    for (const transactionId of own === null ? told : [own]) {
      const found = await this.#ledger.sight(transactionId, sought)
      if (found !== undefined) return this.#outcome(found, sought, own !== null)
    }
    // Another transaction can carry the payment only if a remote facilitator signs as fee payer.
    const other = own === null ? await this.#ledger.search(sought) : undefined
    return other === undefined ? undefined : this.#outcome(other, sought, false)
  }

  /** `isOwn`: the operator's key paid its fee. */
  async #outcome(sighting: Sighting, sought: SoughtPayment, isOwn: boolean): Promise<ChainOutcome> {
    const { transactionId, state } = sighting
    const { payer, amountAtomic } = sought.transfer
    const failed = isOwn ? { failedTransactionIds: [transactionId] } : {}
    if (state === 'failing') return { kind: 'pending', sent: true, ...failed }
    if (state === 'failed') return { kind: 'impossible', reason: 'transaction_failed', ...failed }
    if (!(await this.#isDeepEnough(transactionId, sought))) return { kind: 'pending', sent: true }
    const wallet = { chain: 'solana', address: payer } as const
    return { kind: 'paid', transfer: { transactionId, transferIndex: TRANSFER_INDEX, payer: wallet, amountAtomic } }
  }

  async #isDeepEnough(transactionId: string, sought: SoughtPayment): Promise<boolean> {
    const usd = Number(sought.transfer.amountAtomic) / ATOMIC_PER_USD
    if (usd <= this.#parts.limits.finalizedAboveUsd) return true
    return (await this.#ledger.sight(transactionId, sought, FINAL)) !== undefined
  }

  #requirement(amountAtomic: bigint, feePayer: string): PaymentRequirement {
    return {
      scheme: 'exact',
      network: this.network,
      amount: String(amountAtomic),
      asset: this.#parts.merchant.mint,
      payTo: this.#parts.merchant.payTo,
      maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
      extra: { feePayer },
    }
  }
}

function hashOf({ bytes }: TransferMessage): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function parsePayload(payload: unknown): TransferMessage | undefined {
  const read = Payload.safeParse(payload)
  return read.success ? readTransferMessage(Buffer.from(read.data.transaction, 'base64')) : undefined
}

function readPayload(payload: unknown): TransferMessage {
  const message = parsePayload(payload)
  if (message === undefined) {
    throw paymentError(
      'payment_format_invalid',
      'The payload must be {"transaction": Base64} with a Solana transaction of two signers, the fee payer and the payer, and without lookup tables',
    )
  }
  return message
}
