import type { PaymentNetwork, PaymentRequirement } from './payment-network.ts'

/** USDC and similar tokens have six decimals: one base unit is 1,000 nano-USD. */
export const NANO_USD_PER_ATOMIC = 1_000n

export const TOP_UP_MIN_ATOMIC = 5_000_000n
export const TOP_UP_SUGGESTED_ATOMIC = 10_000_000n
export const TOP_UP_MAX_ATOMIC = 10_000_000_000n

/** The payment terms that a payer can sign, one entry per chain. */
export class PaymentOptions {
  readonly #networks: readonly PaymentNetwork[]

  constructor(networks: readonly PaymentNetwork[]) {
    this.#networks = networks
  }

  get available(): boolean {
    return this.#networks.length > 0
  }

  /** For `POST /x402/top-up`: the minimum; the payer may sign more. */
  forTopUp(): Promise<PaymentRequirement[]> {
    return this.#of(TOP_UP_MIN_ATOMIC)
  }

  /** For the 402 responses of other routes: the suggested amount. */
  forRequests(): Promise<PaymentRequirement[]> {
    return this.#of(TOP_UP_SUGGESTED_ATOMIC)
  }

  /** Omits a chain whose terms are unavailable (its facilitator is down), as long as another has them. */
  async #of(amountAtomic: bigint): Promise<PaymentRequirement[]> {
    const entries = await Promise.allSettled(this.#networks.map((network) => network.requirement(amountAtomic)))
    const offered = entries.flatMap((entry) => (entry.status === 'fulfilled' ? [entry.value] : []))
    const failed = entries.find((entry) => entry.status === 'rejected')
    if (offered.length === 0 && failed !== undefined) throw failed.reason
    return offered
  }
}
