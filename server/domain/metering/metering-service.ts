import type { RequestContext } from '../caller.ts'
import { type Clock, utcDay } from '../clock.ts'
import { isLockTimeout, isTransientDatabaseFailure } from '../database-failure.ts'
import { type IdSource, toUuid } from '../ids.ts'
import type { BalanceFeed } from '../ledger/balance-feed.ts'
import type { DiemAllowance } from '../ledger/diem-allowance.ts'
import type { RateLimiter } from '../rate-limits/rate-plan.ts'
import { within } from '../within.ts'
import { admissionError, belowMinimum, type KeyLimit, notAdmitted } from './admission-error.ts'
import { HeldRequest } from './held-request.ts'
import { chargeOf, type Hold } from './hold.ts'
import type { HoldRepository } from './hold-repository.ts'
import type { AdmissionRequest, LateCharge, LateMetering, MeteredRequest, Metering } from './metered-request.ts'
import type { Admission, AdmitOutcome, AdmitResult, ExtendOutcome, Settlement, SettleResult } from './money-item.ts'
import { MoneyLane, type SubmitOptions } from './money-lane.ts'

/** How long an item waits for the database before it is given up. */
export interface Patience {
  /** Then the client is told to come again. */
  admitMs: number
  /** The client of a settlement has its response, or waits for it. */
  settleMs: number
  extendMs: number
}

const PATIENCE: Patience = { admitMs: 5_000, settleMs: 30_000, extendMs: 5_000 }
const EXTEND_RETRY_DELAY_MS = 100
/** Beyond it the sums of a batch could pass 64 bits; no balance covers it. */
const HOLD_NANO_USD_MAX = 2n ** 62n - 1n

export interface MeteringDeps {
  holds: HoldRepository
  rateLimiter: RateLimiter
  diemAllowance: DiemAllowance
  balanceFeed: BalanceFeed
  clock: Clock
  ids: IdSource
  /** Lease under which this process's holds stand. */
  processId: string
  /** A wallet with less in its account is asked to top up; keys may spend the last nano-dollar. */
  walletMinimumNanoUsd: bigint
  wait: (milliseconds: number) => Promise<void>
  /** In place of the default, for tests. */
  patience?: Patience | undefined
}

/**
 * The money path (docs/money.md): rate windows, then one durable hold, then exactly one settlement or release.
 * Admissions and settlements share batches; the database decides each item exactly, so no number of processes
 * can spend a nano-dollar more than a balance or a key limit has.
 */
export class MeteringService implements Metering, LateMetering {
  readonly #deps: MeteringDeps
  /** Admissions and settlements share one lane: one call and one commit for whatever waits of both. */
  readonly #lane: MoneyLane
  readonly #patience: Patience
  /** Requests between the begin of their admission and the end of their settlement. */
  readonly #underWay = new Set<string>()
  #idle: (() => void)[] = []

  constructor(deps: MeteringDeps) {
    this.#deps = deps
    this.#patience = deps.patience ?? PATIENCE
    const { holds, processId, clock, wait } = deps
    this.#lane = new MoneyLane({
      send: (items, { waits }) => holds.settleAndAdmit(items, { processId, at: clock.now(), waits }),
      wait,
    })
  }

  open(request: AdmissionRequest): Promise<MeteredRequest> {
    const requestId = toUuid(request.context.requestId)
    return this.#begin(requestId, () => this.#open(requestId, request))
  }

  async settleLate({ context, requestId, admittedAt, usage, maxNanoUsd, grant }: LateCharge): Promise<void> {
    const held = await this.#begin(requestId, async () => {
      const amountNanoUsd = chargeOf(usage, maxNanoUsd)
      const hold = await this.#hold(context, { requestId, lateAt: admittedAt, amountNanoUsd })
      if (hold !== 'settled_before') return new HeldRequest(hold, grant, this.#heldRequestPorts)
      this.#end(requestId)
      return undefined
    })
    await held?.settle(usage)
  }

  /** How long the database has decided nothing while requests wait for it; for readiness. */
  stalledMs(): number {
    return this.#lane.stalledMs()
  }

  /** Resolves when every request that was opened has ended, and no admission or settlement is waiting or in flight. */
  async drained(): Promise<void> {
    if (this.#underWay.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
    await this.#lane.drained()
  }

  /** Whether a hold of this request may still be charged by this process. */
  isUnderWay(requestId: string): boolean {
    return this.#underWay.has(requestId)
  }

  /** Ends holds in the same batches as everything else; the sweeper's entry. */
  async settleItem(item: Settlement): Promise<SettleResult> {
    const { result } = await this.#lane.submit({ kind: 'settle', item }, { patienceMs: this.#patience.settleMs })
    return result
  }

  async #open(requestId: string, request: AdmissionRequest): Promise<MeteredRequest> {
    const grant = await this.#deps.rateLimiter.admit(request.plan)
    try {
      const { context, holdNanoUsd } = request
      const hold = await this.#hold(context, { requestId, lateAt: null, amountNanoUsd: holdNanoUsd })
      if (hold === 'settled_before') throw new Error('only a late charge finds its usage settled')
      if (context.caller.kind === 'wallet') await this.#assertMinimum(hold)
      return new HeldRequest(hold, grant, this.#heldRequestPorts)
    } catch (error) {
      this.#deps.rateLimiter.refund(grant)
      throw error
    }
  }

  /** Counts a request as under way until what it opens has ended. */
  async #begin<Opened>(requestId: string, open: () => Promise<Opened>): Promise<Opened> {
    this.#underWay.add(requestId)
    try {
      return await open()
    } catch (error) {
      this.#end(requestId)
      throw error
    }
  }

  #end(requestId: string): void {
    this.#underWay.delete(requestId)
    if (this.#underWay.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #hold(
    { caller: { accountId, keyId }, signal }: RequestContext,
    { requestId, lateAt, amountNanoUsd: wantedNanoUsd }: HoldRequest,
  ): Promise<Hold | 'settled_before'> {
    const { diemAllowance, balanceFeed, clock } = this.#deps
    const amountNanoUsd = wantedNanoUsd < HOLD_NANO_USD_MAX ? wantedNanoUsd : HOLD_NANO_USD_MAX
    const startMs = clock.monotonicMs()
    await within(this.#patience.admitMs, diemAllowance.ensure(accountId, clock.now()))
    const result = await this.#admit(
      {
        accountId,
        requestId,
        keyId,
        amountNano: amountNanoUsd,
        lateAt,
      },
      { signal, patienceMs: this.#patience.admitMs - (clock.monotonicMs() - startMs) },
    )
    if (result.outcome === 'settled_before') return 'settled_before'
    const { currency, admittedAt, usdNano, diemNano } = result
    if (currency === null || admittedAt === null) {
      throw admissionError(result, wantedNanoUsd, await this.#findKeyLimit(result.outcome, accountId, keyId))
    }
    balanceFeed.changed(accountId)
    return {
      holdId: requestId,
      requestId,
      accountId,
      keyId,
      currency,
      amountNanoUsd,
      admittedAt,
      balancesBefore: { usdNano, diemNano },
    }
  }

  /** For the message only: without it the rejection stands all the same. */
  async #findKeyLimit(outcome: AdmitOutcome, accountId: string, keyId: string | null): Promise<KeyLimit | undefined> {
    if (keyId === null || (outcome !== 'key_limit_usd' && outcome !== 'key_limit_diem')) return undefined
    const currency = outcome === 'key_limit_usd' ? 'usd' : 'diem'
    const { holds, clock } = this.#deps
    return holds.findKeyLimit(accountId, keyId, { currency, at: clock.now() }).catch(() => undefined)
  }

  /** Judged by what the admission answered, so that it costs no look of its own; only a rejection has to free its hold. */
  async #assertMinimum({ accountId, requestId, admittedAt, currency, balancesBefore }: Hold): Promise<void> {
    const { walletMinimumNanoUsd } = this.#deps
    if (balancesBefore.usdNano + balancesBefore.diemNano >= walletMinimumNanoUsd) return
    const day = utcDay(admittedAt)
    const release = { accountId, requestId, day, currency, chargeNano: 0n, transferId: requestId, usage: null }
    // The client hears of its balance all the same; the sweeper finds a hold that is left.
    await this.settleItem(release).catch(() => undefined)
    this.#deps.balanceFeed.changed(accountId)
    throw belowMinimum(balancesBefore, walletMinimumNanoUsd)
  }

  async #admit(item: Admission, options: SubmitOptions): Promise<AdmitResult> {
    try {
      return (await this.#lane.submit({ kind: 'admit', item }, options)).result
    } catch (error) {
      throw notAdmitted(error)
    }
  }

  /** Sent again while the database is away or the account is locked: growing to an amount is safe to repeat. */
  async #extend(hold: Hold, toNano: bigint): Promise<ExtendOutcome> {
    const { holds, clock, wait } = this.#deps
    if (toNano > HOLD_NANO_USD_MAX) return 'insufficient'
    for (let waitedMs = 0; ; waitedMs += EXTEND_RETRY_DELAY_MS) {
      try {
        return await holds.extend(hold, { toNano, at: clock.now() })
      } catch (error) {
        const mayPass = isTransientDatabaseFailure(error) || isLockTimeout(error)
        if (!mayPass || waitedMs >= this.#patience.extendMs) throw error
      }
      await wait(EXTEND_RETRY_DELAY_MS)
    }
  }

  readonly #heldRequestPorts = {
    settle: (item: Settlement) => this.settleItem(item),
    ended: ({ requestId }: Hold) => this.#end(requestId),
    extend: (hold: Hold, toNano: bigint) => this.#extend(hold, toNano),
    settled: (hold: Hold) => this.#deps.balanceFeed.changed(hold.accountId),
    returnWindows: (...args: Parameters<RateLimiter['correct']>) => this.#deps.rateLimiter.correct(...args),
    expireRest: (hold: Hold, restNano: bigint) => {
      // Its instant is the database's, so its day is known for certain.
      const endedHold = { ...hold, day: utcDay(hold.admittedAt) }
      return this.#deps.diemAllowance.expireRest(endedHold, restNano)
    },
    transferId: () => this.#deps.ids.uuid(),
  }
}

interface HoldRequest {
  requestId: string
  /** The instant of the original request, if this makes up for its charge. */
  lateAt: Date | null
  amountNanoUsd: bigint
}
