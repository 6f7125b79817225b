import type { Clock } from '../../../domain/clock.ts'
import type { PaymentVerdict, SettleOutcome, SignedPayment } from '../../../domain/payments/payment-network.ts'
import { parseSolanaKey } from '../../../domain/wallets/wallet-address.ts'
import type { RemoteFacilitator } from '../remote-facilitator.ts'
import type { SettlementHooks, SolanaFacilitator } from './solana-facilitator.ts'

/** Facilitators seldom change their keys, and may choose one of several for each request. */
const FEE_PAYER_AGE_MS_MAX = 60_000
/** A facilitator that fails to respond is not called for every offer. */
const ASK_AGAIN_MS = 10_000

/** A facilitator behind a URL, which also names its fee payer. */
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

  /** Returns the last known one while it is refreshed: an offer must not wait for an unreachable facilitator. */
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

  /** The facilitator knows its own fee payers, including one that another process has offered. */
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
    // Callers that need the result await it; no other caller needs to see the failure.
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
