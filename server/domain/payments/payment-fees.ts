import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { PaymentFeeRepository } from './payment-fee-repository.ts'
import { type FeeBudget, FeeBudgetError, type PaymentNetwork, type ReserveFee } from './payment-network.ts'

/** Share of a day's budget at which a warning is logged. */
const WARN_PERCENT = 80n

export interface FeeGauges {
  network: string
  /** In the chain's main unit: ETH, SOL. */
  spent: number
  budget: number
}

export interface PaymentFeesDeps {
  repository: PaymentFeeRepository
  networks: readonly Pick<PaymentNetwork, 'network' | 'feeBudget'>[]
  gauge: (gauges: FeeGauges) => void
  clock: Clock
  log: Log
}

/** Keeps the operator's settlement costs within a budget per UTC day and chain, across all processes. */
export class PaymentFees {
  readonly #deps: PaymentFeesDeps
  readonly #alarmed = new Map<string, string>()

  constructor(deps: PaymentFeesDeps) {
    this.#deps = deps
  }

  /** Whether part of today's budget is left; raises the alarm if not. */
  async hasLeft(network: string): Promise<boolean> {
    const budget = this.#budgetOf(network)
    if (budget === null) return true
    const { day, spent } = await this.#deps.repository.spentToday(network, this.#deps.clock.now())
    if (spent < budget.perDay) return true
    this.#alarm('error', network, day)
    return false
  }

  open(network: string): FeeReservation {
    const { repository, clock } = this.#deps
    const budget = this.#budgetOf(network)
    return new FeeReservation({
      take: async (amount) => {
        if (budget === null) return ''
        const now = clock.now()
        const day = await repository.reserve(network, { amount, perDay: budget.perDay, now })
        if (day === undefined) this.#alarm('error', network, (await repository.spentToday(network, now)).day)
        return day
      },
      adjust: (day, delta) => (budget === null ? Promise.resolve() : repository.adjust(network, day, delta)),
    })
  }

  /** Publishes today's settlement costs, and warns before the budget is spent. */
  async watch(): Promise<void> {
    const { networks, repository, gauge, clock } = this.#deps
    for (const { network, feeBudget } of networks) {
      if (feeBudget === null) continue
      const { day, spent } = await repository.spentToday(network, clock.now())
      const unit = 10 ** feeBudget.decimals
      gauge({ network, spent: Number(spent) / unit, budget: Number(feeBudget.perDay) / unit })
      if (spent * 100n >= feeBudget.perDay * WARN_PERCENT) this.#alarm('warn', network, day)
    }
  }

  #budgetOf(network: string): FeeBudget | null {
    return this.#deps.networks.find((candidate) => candidate.network === network)?.feeBudget ?? null
  }

  #alarm(level: 'warn' | 'error', network: string, day: string): void {
    const key = `${level} ${network}`
    if (this.#alarmed.get(key) === day) return
    this.#alarmed.set(key, day)
    const { log } = this.#deps
    if (level === 'warn') log.warn('most of the daily budget for settlement fees is spent', { network, day })
    else
      log.error('the daily budget for settlement fees is spent: payments wait for the next UTC day', { network, day })
  }
}

interface ReservationParts {
  /** Returns the day whose budget was reserved; undefined if it does not cover the amount. */
  take: (amount: bigint) => Promise<string | undefined>
  adjust: (day: string, delta: bigint) => Promise<void>
}

/**
 * The reserved fees of one settlement attempt. They stay reserved if the process dies, since the transaction may have
 * been sent.
 */
export class FeeReservation {
  readonly #parts: ReservationParts
  #reserved = 0n
  #day = ''
  #exceeded = false

  constructor(parts: ReservationParts) {
    this.#parts = parts
  }

  get exceeded(): boolean {
    return this.#exceeded
  }

  readonly reserve: ReserveFee = async (amount) => {
    const day = await this.#parts.take(amount)
    if (day === undefined) {
      this.#exceeded = true
      throw new FeeBudgetError('the daily budget for settlement fees does not cover this transaction')
    }
    this.#day = day
    this.#reserved += amount
  }

  async settle(cost: bigint): Promise<void> {
    if (this.#reserved === 0n) return
    await this.#parts.adjust(this.#day, cost - this.#reserved)
    this.#reserved = 0n
  }
}
