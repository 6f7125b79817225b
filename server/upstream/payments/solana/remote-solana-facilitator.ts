import type { Clock } from '../../../domain/clock.ts'
import type { PaymentVerdict, SettleOutcome, SignedPayment } from '../../../domain/payments/payment-network.ts'
import { parseSolanaKey } from '../../../domain/wallets/wallet-address.ts'
import type { RemoteFacilitator } from '../remote-facilitator.ts'
import type { SettlementHooks, SolanaFacilitator } from './solana-facilitator.ts'

/** Facilitators change their keys seldom, and may draw one of several at each question. */
const FEE_PAYER_AGE_MS_MAX = 60_000
/** A facilitator that fails to answer is not asked with every offer. */
const ASK_AGAIN_MS = 10_000

/** A facilitator behind a URL, whose fee payer is learned from it. */
export class RemoteSolanaFacilitator implements SolanaFacilitator {
  readonly fixedFeePayer = null
  readonly #remote: RemoteFacilitator
  readonly #clock: Clock
  #latest: { feePayer: string; loadedAtMs: number } | undefined
  #asked: Promise<string> | undefined
  #askAgainAtMs = 0

  constructor(remote: RemoteFacilitator, clock: Clock) {
    this.#remote = remote
    this.#clock = clock
  }

  /** The last one known while it is asked again: an offer must not wait for a facilitator that is away. */
  async feePayer(): Promise<string> {
    const known = this.#latest
    const nowMs = this.#clock.nowMs()
    if (known !== undefined && nowMs - known.loadedAtMs < FEE_PAYER_AGE_MS_MAX) return known.feePayer
    if (this.#asked === undefined || nowMs >= this.#askAgainAtMs) this.#asked = this.#ask(nowMs)
    return known?.feePayer ?? this.#asked
  }

  transactionIdOf(): null {
    return null
  }

  /** The facilitator knows its own fee payers, also one that another process of ours has offered. */
  verify({ wire }: SignedPayment): Promise<PaymentVerdict> {
    return this.#remote.verify(wire)
  }

  async settle({ wire }: SignedPayment, _message: unknown, { tell }: SettlementHooks): Promise<SettleOutcome> {
    const { outcome, transactionId } = await this.#remote.settle(wire)
    if (transactionId !== null) await tell(transactionId)
    return outcome
  }

  async inspect(): Promise<string[]> {
    await this.#load()
    return []
  }

  #ask(nowMs: number): Promise<string> {
    this.#askAgainAtMs = nowMs + ASK_AGAIN_MS
    const asked = this.#load()
    // Who needs the answer awaits it; nobody else has to hear of a failure.
    asked.catch(() => undefined)
    return asked
  }

  async #load(): Promise<string> {
    const { feePayer } = await this.#remote.extra()
    if (typeof feePayer !== 'string' || parseSolanaKey(feePayer) === undefined) {
      throw new Error('the facilitator has no fee payer for Solana')
    }
    this.#latest = { feePayer, loadedAtMs: this.#clock.nowMs() }
    return feePayer
  }
}
