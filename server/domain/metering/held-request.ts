import { utcDay } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { RateGrant } from '../rate-limits/rate-plan.ts'
import { holdLost } from './admission-error.ts'
import type { Hold, Receipt, UnchargedUsage, Usage, UsageLine } from './hold.ts'
import type { MeteredRequest } from './metered-request.ts'
import type { ExtendOutcome, Settlement, SettleResult } from './money-item.ts'

export interface HeldRequestDeps {
  settle: (item: Settlement) => Promise<SettleResult>
  /** The settlement is durable or has failed for good, and its hold, if one is left, is to be released; told exactly once. */
  ended: (hold: Hold) => void
  /** Grows the hold to this amount. */
  extend: (hold: Hold, toNano: bigint) => Promise<ExtendOutcome>
  settled: (hold: Hold) => void
  returnWindows: (grant: RateGrant, used: { tokens?: number; credits?: number }) => void
  expireRest: (hold: Hold, restNano: bigint) => Promise<void>
  transferId: () => string
}

/** One admitted request; the first `settle` or `release` ends it and every later call answers with that end. */
export class HeldRequest implements MeteredRequest {
  readonly hold: Hold
  readonly grant: RateGrant
  receipt: Receipt | null = null
  readonly #deps: HeldRequestDeps
  #end: Promise<Receipt> | undefined
  #extended: Promise<unknown> = Promise.resolve()

  constructor(hold: Hold, grant: RateGrant, ports: HeldRequestDeps) {
    this.hold = hold
    this.grant = grant
    this.#deps = ports
  }

  extend(byNanoUsd: bigint): Promise<ExtendOutcome> {
    // One after another, because each names the amount that the one before it reached.
    const extension = this.#extended.then(() => this.#extend(byNanoUsd))
    this.#extended = extension.catch(() => undefined)
    return extension
  }

  settle(usage: Usage, used: { tokens?: number; credits?: number } = {}): Promise<Receipt> {
    this.#end ??= this.#settle(usage, used)
    return this.#end
  }

  async release(usage?: UnchargedUsage): Promise<void> {
    this.#end ??= this.#finishOnce(this.#releaseItem(usage), { tokens: 0, credits: 0 })
    await this.#end
  }

  async #extend(byNanoUsd: bigint): Promise<ExtendOutcome> {
    if (this.#end !== undefined) return 'lost'
    const toNanoUsd = this.hold.amountNanoUsd + byNanoUsd
    const outcome = await this.#deps.extend(this.hold, toNanoUsd)
    if (outcome === 'extended') this.hold.amountNanoUsd = toNanoUsd
    return outcome
  }

  #settle(usage: Usage, used: { tokens?: number; credits?: number }): Promise<Receipt> {
    return this.#finishOnce(this.#usageItem(usage), used)
  }

  #releaseItem(usage: UnchargedUsage | undefined): Settlement {
    return usage === undefined ? this.#settlement(0n, null) : this.#usageItem({ ...usage, lines: [] })
  }

  #usageItem(usage: Usage): Settlement {
    const lines = fitLines(usage.lines, this.hold.amountNanoUsd)
    return this.#settlement(sumOf(lines), { ...usage, lines })
  }

  async #finishOnce(item: Settlement, used: { tokens?: number; credits?: number }): Promise<Receipt> {
    try {
      this.#deps.returnWindows(this.grant, used)
      return await this.#finish(item)
    } finally {
      this.#deps.ended(this.hold)
    }
  }

  async #finish(item: Settlement): Promise<Receipt> {
    const result = await this.#write(item)
    // Released by a sweeper while this process was cut off: nothing was charged, so nothing may be completed.
    if (result.outcome === 'lost' && item.usage !== null && item.usage.lines.length > 0) {
      throw holdLost()
    }
    this.#deps.settled(this.hold)
    const restNano = this.hold.amountNanoUsd - result.chargedNano
    if (this.hold.currency === 'diem' && restNano > 0n) {
      // The charge is durable; a rest that stays by a failure expires with the next allowance.
      await this.#deps.expireRest(this.hold, restNano).catch(() => undefined)
    }
    this.receipt = {
      chargedNanoUsd: result.chargedNano,
      currency: this.hold.currency,
      balanceAfterNano: result.balanceAfterNano,
      settledNow: result.outcome === 'settled',
    }
    return this.receipt
  }

  #write(item: Settlement): Promise<SettleResult> {
    return this.#deps.settle(item).catch((cause: unknown) => {
      throw new DomainError(
        'unavailable',
        'The charge of this request could not be written, so it was not completed; send it again',
        { cause },
      )
    })
  }

  #settlement(chargeNano: bigint, usage: Usage | null): Settlement {
    const { accountId, requestId, currency, admittedAt } = this.hold
    return {
      accountId,
      requestId,
      currency,
      day: utcDay(admittedAt),
      transferId: this.#deps.transferId(),
      chargeNano,
      usage,
    }
  }
}

function sumOf(lines: readonly UsageLine[]): bigint {
  return lines.reduce((sum, line) => sum + line.amountNanoUsd, 0n)
}

/** A charge never exceeds its hold: what is above comes off the last lines first, so that the lines still add up to the charge. */
function fitLines(lines: UsageLine[], maxNanoUsd: bigint): UsageLine[] {
  let free = maxNanoUsd
  if (sumOf(lines) <= free) return lines
  return lines.map((line) => {
    const amountNanoUsd = line.amountNanoUsd < free ? line.amountNanoUsd : free
    free -= amountNanoUsd
    return { ...line, amountNanoUsd }
  })
}
