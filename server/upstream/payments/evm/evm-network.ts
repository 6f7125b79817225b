import { DomainError } from '../../../domain/errors.ts'
import type { PaymentEnvelope } from '../../../domain/payments/payment-envelope.ts'
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
import type { RemoteFacilitator } from '../remote-facilitator.ts'
import { readEvmClaimKey, readEvmPayment } from './evm-payment.ts'
import type { EvmSettlement, EvmSettlementOptions } from './evm-settlement.ts'

const MAX_TIMEOUT_SECONDS = 300
/** For a whole verification, however many calls it takes. */
const VERIFY_DEADLINE_MS = 10_000
/** For a whole search, which may read the logs of a day. */
const READ_DEADLINE_MS = 60_000

export interface EvmNetworkOptions extends EvmSettlementOptions {
  payTo: string
  /** Name in the token's EIP-712 domain. */
  tokenName: string
  tokenVersion: string
  /** Null: the operator's own key settles. */
  facilitatorUrl: string | null
  /** How far ahead a payment may expire. */
  maxValiditySeconds: number
  /** Budget for settlements in a UTC day. */
  dailyFeeWei: bigint
}

interface Parts {
  settlement: EvmSettlement
  remote: RemoteFacilitator | null
}

/** USDC by EIP-3009 on Base (x402 scheme `exact`). Its libraries are loaded with the first payment. */
export class EvmNetwork implements PaymentNetwork {
  readonly network: string
  readonly feeBudget: FeeBudget | null
  readonly #options: EvmNetworkOptions
  #parts: Promise<Parts> | undefined
  #problem: string | undefined

  constructor(options: EvmNetworkOptions) {
    this.#options = options
    this.network = `eip155:${options.chainId}`
    const isOurs = options.facilitatorUrl === null
    this.feeBudget = isOurs ? { perDay: options.dailyFeeWei, currency: 'ETH', decimals: 18 } : null
  }

  async requirement(amountAtomic: bigint): Promise<PaymentRequirement> {
    this.#assertNotKnownWrong()
    return this.#terms(amountAtomic)
  }

  claimKeyOf(envelope: PaymentEnvelope): string | null {
    return readEvmClaimKey(envelope, this.#options.asset)
  }

  read(envelope: PaymentEnvelope): SignedPayment {
    const { clock, maxValiditySeconds } = this.#options
    return readEvmPayment(envelope, this.#terms(0n), { now: clock.now(), maxValiditySeconds })
  }

  async verify(payment: SignedPayment): Promise<PaymentVerdict> {
    return this.#ask((settlement, signal) => settlement.verify(payment, signal), VERIFY_DEADLINE_MS)
  }

  async settle(
    payment: SignedPayment,
    onTransaction: (transactionId: string) => Promise<void>,
    reserveFee?: ReserveFee,
  ): Promise<SettleOutcome> {
    try {
      const { settlement, remote } = await this.#ready()
      await this.#assertChain(settlement, AbortSignal.timeout(READ_DEADLINE_MS))
      if (remote === null) return await settlement.settle(payment, onTransaction, reserveFee)
      const { outcome, transactionId } = await remote.settle(payment.wire)
      if (transactionId !== null) await onTransaction(transactionId)
      return outcome
    } catch (error) {
      this.#options.log.warn('settling a payment was interrupted', { network: this.network, error: plain(error) })
      return { kind: 'unknown', reason: 'settlement_broke_off' }
    }
  }

  async lookUp(payment: SignedPayment, hints: LookUpHints): Promise<ChainOutcome> {
    return this.#ask((settlement, signal) => settlement.lookUp(payment, hints, signal))
  }

  async raiseFee(
    hints: LookUpHints,
    onTransaction: (transactionId: string) => Promise<void>,
    reserveFee?: ReserveFee,
  ): Promise<void> {
    return this.#ask((settlement) => settlement.raiseFee(hints, onTransaction, reserveFee))
  }

  async recheck(payment: SignedPayment, transfer: CreditedTransfer, hints: LookUpHints): Promise<TransferStanding> {
    return this.#ask((settlement, signal) => settlement.recheck(payment, { transfer, hints }, signal))
  }

  async inspect(): Promise<string[]> {
    try {
      return await this.#ask((settlement) => settlement.inspect())
    } catch (error) {
      if (error instanceof DomainError) return [error.message]
      return ['its node does not respond']
    }
  }

  #terms(amountAtomic: bigint): PaymentRequirement {
    const { asset, payTo, tokenName, tokenVersion } = this.#options
    return {
      scheme: 'exact',
      network: this.network,
      amount: String(amountAtomic),
      asset,
      payTo,
      maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
      extra: { name: tokenName, version: tokenVersion },
    }
  }

  async #ask<Answer>(
    question: (settlement: EvmSettlement, signal: AbortSignal) => Promise<Answer>,
    deadlineMs = READ_DEADLINE_MS,
  ): Promise<Answer> {
    try {
      const { settlement } = await this.#ready()
      const signal = AbortSignal.timeout(deadlineMs)
      await this.#assertChain(settlement, signal)
      return await question(settlement, signal)
    } catch (error) {
      throw plain(error)
    }
  }

  /**
   * A node of another chain must never be used to check payments on this one, and its URL may start to lead elsewhere.
   * A token without six decimals is also wrong, because a million of its units would not be worth a dollar.
   */
  async #assertChain(settlement: EvmSettlement, signal: AbortSignal): Promise<void> {
    this.#problem = await settlement.findProblem(signal)
    this.#assertNotKnownWrong()
  }

  #assertNotKnownWrong(): void {
    if (this.#problem === undefined) return
    throw new DomainError('payment_not_configured', `Payments on ${this.network} are off: ${this.#problem}`)
  }

  #ready(): Promise<Parts> {
    this.#parts ??= this.#load().catch((error: unknown) => {
      this.#parts = undefined
      throw error
    })
    return this.#parts
  }

  async #load(): Promise<Parts> {
    const { EvmSettlement } = await import('./evm-settlement.ts')
    const { facilitatorUrl } = this.#options
    const settlement = new EvmSettlement(this.#options)
    if (facilitatorUrl === null) return { settlement, remote: null }
    const { RemoteFacilitator } = await import('../remote-facilitator.ts')
    return { settlement, remote: new RemoteFacilitator(facilitatorUrl, this.network) }
  }
}

/** The libraries' errors contain the node's URL, which may hold a key; their short message does not. */
function plain(error: unknown): unknown {
  if (!(error instanceof Error) || !('shortMessage' in error)) return error
  return new Error(`the node did not respond: ${String(error.shortMessage)}`)
}
