import type { Caller } from '../auth/caller.ts'
import { type Clock, utcDay, utcInstant } from '../clock.ts'
import { isTransientDatabaseFailure } from '../database-failure.ts'
import { DomainError } from '../errors.ts'
import { dashed, type IdSource } from '../ids.ts'
import type { BalanceFeed } from '../ledger/balance-feed.ts'
import type { DiemAllowance } from '../ledger/diem-allowance.ts'
import type { RateLimiter } from '../rate-limits/rate-plan.ts'
import { GroupCommit } from '../group-commit.ts'
import { HeldRequest } from './held-request.ts'
import { chargeOf, type Hold } from './hold.ts'
import type {
  AdmitItem,
  AdmitResult,
  HoldRepository,
  MoneyItem,
  MoneyResult,
  SettleItem,
  SettleResult,
} from './hold-repository.ts'
import type { AdmissionRequest, LateCharge, LateMetering, MeteredRequest, Metering } from './metered-request.ts'
import { belowMinimum, refusal } from './refusal.ts'

const BATCH_ITEMS_MAX = 512
/** With waits that grow to one second: 4 to 7 s for an admission, 30 s for a settlement whose client is waiting. */
const ADMIT_RETRIES_MAX = 7
const SETTLE_RETRIES_MAX = 34

export interface MeteringDependencies {
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
}

/**
 * The money path (design section 5): rate windows, then one durable hold, then exactly one settlement or release.
 * Admissions and settlements are group-committed; the database decides each item exactly, so no number of processes
 * can spend a nano-dollar more than a balance or a key limit has.
 */
export class MeteringService implements Metering, LateMetering {
  readonly #deps: MeteringDependencies
  /** Admissions and settlements share one lane: one call and one commit for whatever waits of both. */
  readonly #lane: GroupCommit<MoneyItem, MoneyResult>
  readonly #unsettled: SettleItem[] = []
  /** Requests between the begin of their admission and the end of their settlement. */
  #underWay = 0
  #idle: (() => void)[] = []

  constructor(deps: MeteringDependencies) {
    this.#deps = deps
    this.#lane = new GroupCommit((items) => deps.holds.exchange(items), {
      batchItemsMax: BATCH_ITEMS_MAX,
      isTransient: isTransientDatabaseFailure,
      retriesMax: ({ kind }) => (kind === 'settle' ? SETTLE_RETRIES_MAX : ADMIT_RETRIES_MAX),
      wait: deps.wait,
    })
  }

  open(request: AdmissionRequest): Promise<MeteredRequest> {
    return this.#begin(() => this.#open(request))
  }

  async settleLate({ context, requestId, admittedAt, usage, maxNanoUsd, grant }: LateCharge): Promise<void> {
    const held = await this.#begin(async () => {
      const amountNanoUsd = chargeOf(usage, maxNanoUsd)
      const hold = await this.#hold(context.caller, { requestId, admittedAt, amountNanoUsd })
      return new HeldRequest(hold, grant, this.#heldRequestPorts)
    })
    await held.settle(usage)
  }

  /** Resolves when every request that was opened has ended, and no admission or settlement is waiting or in flight. */
  async drained(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
    await this.#lane.drained()
  }

  /** Frees holds whose admission or settlement failed while the database was away; a sweeper of another process would not, since this one lives. */
  async releaseUnsettled(): Promise<void> {
    const releases = this.#unsettled.splice(0)
    await Promise.all(releases.map((item) => this.settleItem(item).catch(() => void this.#unsettled.push(item))))
  }

  /** Ends holds in the same batches as everything else; the sweeper's entry. */
  settleItem(item: SettleItem): Promise<SettleResult> {
    return this.#lane.submit({ kind: 'settle', item }).then((settled) => {
      if (settled.kind !== 'settle') throw new Error('a settlement has a settlement result')
      return settled.result
    })
  }

  async #open(request: AdmissionRequest): Promise<MeteredRequest> {
    const grant = await this.#deps.rateLimiter.admit(request.plan)
    try {
      const { context, holdNanoUsd } = request
      const hold = await this.#hold(context.caller, {
        requestId: dashed(context.requestId),
        admittedAt: this.#deps.clock.now(),
        amountNanoUsd: holdNanoUsd,
      })
      if (context.caller.kind === 'wallet') await this.#assertMinimum(hold)
      return new HeldRequest(hold, grant, this.#heldRequestPorts)
    } catch (error) {
      this.#deps.rateLimiter.giveBack(grant)
      throw error
    }
  }

  /** Counts a request as under way until what it opens has ended. */
  async #begin<Opened>(open: () => Promise<Opened>): Promise<Opened> {
    this.#underWay++
    try {
      return await open()
    } catch (error) {
      this.#end()
      throw error
    }
  }

  #end(): void {
    this.#underWay--
    if (this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #hold(
    { accountId, keyId }: Caller,
    { requestId, admittedAt, amountNanoUsd }: Pick<Hold, 'requestId' | 'admittedAt' | 'amountNanoUsd'>,
  ): Promise<Hold> {
    await this.#deps.diemAllowance.ensure(accountId, this.#deps.clock.now())
    const result = await this.#admit({
      account_id: accountId,
      request_id: requestId,
      key_id: keyId,
      amount_nano: amountNanoUsd.toString(),
      day: utcDay(admittedAt),
      admitted_at: utcInstant(admittedAt),
      process_id: this.#deps.processId,
    })
    if (result.outcome !== 'admitted' || result.currency === null) throw refusal(result, amountNanoUsd)
    this.#deps.balanceFeed.changed(accountId)
    return {
      holdId: requestId,
      requestId,
      accountId,
      keyId,
      currency: result.currency,
      amountNanoUsd,
      admittedAt,
      balancesBefore: { usdNano: result.usdNano, diemNano: result.diemNano },
    }
  }

  /** Judged by what the admission answered, so that it costs no look of its own; only a refusal has to free its hold. */
  async #assertMinimum({ accountId, requestId, admittedAt, balancesBefore }: Hold): Promise<void> {
    const { walletMinimumNanoUsd } = this.#deps
    if (balancesBefore.usdNano + balancesBefore.diemNano >= walletMinimumNanoUsd) return
    const release = toRelease({ account_id: accountId, request_id: requestId, day: utcDay(admittedAt) })
    await this.settleItem(release).catch(() => void this.#unsettled.push(release))
    this.#deps.balanceFeed.changed(accountId)
    throw belowMinimum(balancesBefore, walletMinimumNanoUsd)
  }

  async #admit(item: AdmitItem): Promise<AdmitResult> {
    try {
      const admitted = await this.#lane.submit({ kind: 'admit', item })
      if (admitted.kind !== 'admit') throw new Error('an admission has an admission result')
      return admitted.result
    } catch (error) {
      // The hold may stand though its answer got lost; while this process lives, no sweeper would free it.
      this.#unsettled.push(toRelease(item))
      throw new DomainError('unavailable', 'The service cannot take requests at the moment; try again shortly', {
        retryAfterSeconds: 1,
        cause: error,
      })
    }
  }

  readonly #heldRequestPorts = {
    settle: (item: SettleItem) => this.settleItem(item),
    unsettled: (item: SettleItem) => void this.#unsettled.push(item),
    ended: () => this.#end(),
    extend: (hold: Hold, byNano: bigint) => this.#deps.holds.extend(hold.accountId, hold.requestId, byNano),
    settled: (hold: Hold) => this.#deps.balanceFeed.changed(hold.accountId),
    returnWindows: (...args: Parameters<RateLimiter['correct']>) => this.#deps.rateLimiter.correct(...args),
    expireRest: (hold: Hold, restNano: bigint) => this.#deps.diemAllowance.expireRest(hold, restNano),
    now: () => this.#deps.clock.now(),
    transferId: () => this.#deps.ids.uuid(),
  }
}

/** Frees whatever hold of this request there is; where there is none, nothing happens. */
function toRelease({ account_id, request_id, day }: Pick<AdmitItem, 'account_id' | 'request_id' | 'day'>): SettleItem {
  return { account_id, request_id, day, currency: 'usd', charge_nano: '0', transfer_id: request_id, sku: null }
}
