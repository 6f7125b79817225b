/** Maximum concurrent verifications per wallet, per client and in total. */
export interface SlotLimits {
  perWallet: number
  perClient: number
  total: number
}

/**
 * Limits verifications that may hang until their deadline, so neither one wallet's code nor one client's requests can
 * block others.
 */
export class VerificationSlots {
  readonly #limits: SlotLimits
  readonly #taken = new Map<string, number>()

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /** Runs the work in a slot; undefined if the wallet, the client or the server has none left. */
  async run<Result>(of: { wallet: string; client: string }, work: () => Promise<Result>): Promise<Result | undefined> {
    const { perWallet, perClient, total } = this.#limits
    const shares = [
      { key: `wallet ${of.wallet}`, max: perWallet },
      { key: `client ${of.client}`, max: perClient },
      { key: 'total', max: total },
    ]
    if (shares.some(({ key, max }) => (this.#taken.get(key) ?? 0) >= max)) return undefined
    for (const { key } of shares) this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1)
    try {
      return await work()
    } finally {
      for (const { key } of shares) this.#release(key)
    }
  }

  #release(key: string): void {
    const left = (this.#taken.get(key) ?? 0) - 1
    if (left > 0) this.#taken.set(key, left)
    else this.#taken.delete(key)
  }
}
