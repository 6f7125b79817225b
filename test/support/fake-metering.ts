import { DomainError } from '../../server/domain/errors.ts'
import type { Receipt, UnchargedUsage, Usage } from '../../server/domain/metering/hold.ts'
import type { AdmissionRequest, MeteredRequest, Metering } from '../../server/domain/metering/metered-request.ts'
import type { ExtendOutcome } from '../../server/domain/metering/money-item.ts'

/** One admission and how it ended. */
export interface MeteringRecord {
  admission: AdmissionRequest
  /** Null while the request runs. */
  end: { kind: 'settled'; usage: Usage; chargedNanoUsd: bigint } | { kind: 'released' } | null
  /** What the request log gets of a released request. */
  uncharged: UnchargedUsage | undefined
  usedCredits: number | undefined
  usedTokens: number | undefined
}

export interface FakeMetering extends Metering {
  records: MeteringRecord[]
  balanceNanoUsd: bigint
  /** While set, every settlement fails with it. */
  settleFailure: Error | undefined
  /** While set, no hold can be released. */
  releaseFailure: Error | undefined
  /** While set, no hold grows, and this is why. */
  extendOutcome: Exclude<ExtendOutcome, 'extended'> | undefined
  /** While set, every extension fails with it. */
  extendFailure: Error | undefined
  /** Extensions that were asked for. */
  extensions: number
  /** While set, settlements wait for it before they are durable. */
  settleGate: Promise<void> | undefined
}

/** The money path in memory: one balance, the first end of a request wins, a charge never exceeds its hold. */
export function createFakeMetering(balanceNanoUsd = 1_000_000_000n): FakeMetering {
  const metering: FakeMetering = {
    records: [],
    balanceNanoUsd,
    settleGate: undefined,
    settleFailure: undefined,
    releaseFailure: undefined,
    extendOutcome: undefined,
    extendFailure: undefined,
    extensions: 0,
    async open(admission) {
      if (admission.holdNanoUsd > metering.balanceNanoUsd) {
        throw new DomainError('insufficient_balance', 'Insufficient USD or Diem balance')
      }
      metering.balanceNanoUsd -= admission.holdNanoUsd
      const record: MeteringRecord = {
        admission,
        end: null,
        uncharged: undefined,
        usedCredits: undefined,
        usedTokens: undefined,
      }
      metering.records.push(record)
      return new FakeRequest(metering, record)
    },
  }
  return metering
}

const OPEN_WINDOW = { limit: 100, remaining: 99, resetAtMs: 0, nowMs: 0 }

class FakeRequest implements MeteredRequest {
  readonly hold: MeteredRequest['hold']
  readonly grant: MeteredRequest['grant']
  receipt: Receipt | null = null
  readonly #metering: FakeMetering
  readonly #record: MeteringRecord

  constructor(metering: FakeMetering, record: MeteringRecord) {
    const { context, holdNanoUsd, plan } = record.admission
    this.#metering = metering
    this.#record = record
    this.hold = {
      holdId: context.requestId,
      requestId: context.requestId,
      accountId: context.caller.accountId,
      keyId: context.caller.keyId,
      currency: 'usd',
      amountNanoUsd: holdNanoUsd,
      admittedAt: new Date(0),
      balancesBefore: { usdNano: metering.balanceNanoUsd + holdNanoUsd, diemNano: 0n },
    }
    this.grant = {
      plan,
      booking: { sharedAtMs: null, localAtMs: null },
      requests: OPEN_WINDOW,
      tokens: null,
      credits: OPEN_WINDOW,
    }
  }

  async extend(byNanoUsd: bigint): Promise<ExtendOutcome> {
    this.#metering.extensions++
    if (this.#metering.extendFailure !== undefined) throw this.#metering.extendFailure
    if (this.#metering.extendOutcome !== undefined) return this.#metering.extendOutcome
    if (this.#record.end !== null || byNanoUsd > this.#metering.balanceNanoUsd) return 'insufficient'
    this.#metering.balanceNanoUsd -= byNanoUsd
    this.hold.amountNanoUsd += byNanoUsd
    return 'extended'
  }

  async settle(usage: Usage, used: { tokens?: number; credits?: number } = {}): Promise<Receipt> {
    if (this.#metering.settleFailure !== undefined) throw this.#metering.settleFailure
    if (this.#record.end === null) {
      const price = usage.lines.reduce((sum, line) => sum + line.amountNanoUsd, 0n)
      const charge = price < this.hold.amountNanoUsd ? price : this.hold.amountNanoUsd
      this.#record.end = { kind: 'settled', usage, chargedNanoUsd: charge }
      this.#record.usedCredits = used.credits
      this.#record.usedTokens = used.tokens
      this.#metering.balanceNanoUsd += this.hold.amountNanoUsd - charge
    }
    await this.#metering.settleGate
    const { end } = this.#record
    const chargedNanoUsd = end.kind === 'settled' ? end.chargedNanoUsd : 0n
    this.receipt = {
      chargedNanoUsd,
      currency: 'usd',
      balanceAfterNano: this.#metering.balanceNanoUsd,
      settledNow: true,
    }
    return this.receipt
  }

  async release(usage?: UnchargedUsage): Promise<void> {
    if (this.#metering.releaseFailure !== undefined) throw this.#metering.releaseFailure
    if (this.#record.end !== null) return
    this.#record.uncharged = usage
    this.#record.end = { kind: 'released' }
    this.#metering.balanceNanoUsd += this.hold.amountNanoUsd
  }
}
