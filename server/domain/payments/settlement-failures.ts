import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import { networkOf } from '../rate-limits/network-of.ts'
import type { WalletAddress } from '../wallets/wallet-address.ts'
import type { FailedSettlement, FailureCount, SettlementFailureRepository } from './settlement-failure-repository.ts'

export interface SettlementFailuresDeps {
  repository: SettlementFailureRepository
  clock: Clock
  perHour: number
  perHourPerIp: number
}

/** Limits the settlements that fail on chain at the operator's expense, per paying wallet and per client. */
export class SettlementFailures {
  readonly #deps: SettlementFailuresDeps

  constructor(deps: SettlementFailuresDeps) {
    this.#deps = deps
  }

  async record(settlement: Omit<FailedSettlement, 'transactionId'>, transactionIds: readonly string[]): Promise<void> {
    const { repository, clock } = this.#deps
    for (const transactionId of transactionIds) {
      await repository.record({ ...settlement, transactionId }, clock.now())
    }
  }

  /** Fails with `rate_limited`. */
  async assertFew(payer: WalletAddress, clientAddress: string): Promise<void> {
    const { repository, clock, perHour, perHourPerIp } = this.#deps
    const now = clock.now()
    const [ofPayer, ofClient] = await Promise.all([
      repository.countOfPayer(payer, now),
      repository.countOfClient(networkOf(clientAddress), now),
    ])
    this.#assert(ofPayer, perHour, 'one wallet')
    this.#assert(ofClient, perHourPerIp, 'one address')
  }

  /**
   * After a failure, settlements in progress count as well; otherwise a burst would fail before the first result is
   * known.
   */
  #assert({ failures, settling, secondsLeft }: FailureCount, limit: number, of: string): void {
    if (failures === 0 || failures + settling < limit) return
    const rule = `Rate limit exceeded: ${limit} settlements of ${of} that fail on chain per hour.`
    const message = `${rule} Nothing was settled. Send the same payment again in ${secondsLeft} seconds.`
    const resetAtMs = this.#deps.clock.nowMs() + secondsLeft * 1_000
    throw new DomainError('rate_limited', message, {
      retryAfterSeconds: secondsLeft,
      limit: { rule, limit, remaining: 0, resetAtMs },
    })
  }
}
