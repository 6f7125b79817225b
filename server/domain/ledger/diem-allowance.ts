import { type Clock, utcDay, utcMidnight } from '../clock.ts'
import type { IdSource } from '../ids.ts'
import { RecentCache } from '../recent-cache.ts'
import type { LedgerRepository, Posting } from './ledger-repository.ts'

const ACCOUNTS_REMEMBERED_MAX = 100_000

interface EndedHold {
  accountId: string
  requestId: string
  /** The day of the hold by the database's clock, `YYYY-MM-DD`. */
  day: string
}

/**
 * The daily DIEM allowance: at 00:00 UTC stake grants the new day's DIEM, and yesterday's unspent DIEM expires. Both are
 * posted lazily, only once, by the first request of an account on a day. The database's clock decides the day, so a
 * process with a wrong clock grants nothing twice and expires nothing early.
 */
export class DiemAllowance {
  readonly #ledger: LedgerRepository
  readonly #clock: Clock
  readonly #ids: IdSource
  /** Accounts whose current day has begun, so that each process calls the database once a day. */
  readonly #begunDay = new RecentCache<string>({ entriesMax: ACCOUNTS_REMEMBERED_MAX })
  readonly #beginning = new Map<string, Promise<void>>()
  /** How far the database's clock was ahead of this process's at the last posting. */
  #aheadMs = 0

  constructor(deps: { ledger: LedgerRepository; clock: Clock; ids: IdSource }) {
    this.#ledger = deps.ledger
    this.#clock = deps.clock
    this.#ids = deps.ids
  }

  /** The current time by the database's clock, as far as this process knows it. */
  now(): Date {
    return this.#toLedger(this.#clock.now())
  }

  /** Ensures that the allowance for this UTC day is granted. */
  async ensure(accountId: string, instant: Date): Promise<void> {
    if (this.#begunDay.get(accountId) === utcDay(this.#toLedger(instant))) return
    // One call serves all waiting requests, which continue in their order of arrival.
    const begin =
      this.#beginning.get(accountId) ?? this.#begin(accountId).finally(() => this.#beginning.delete(accountId))
    this.#beginning.set(accountId, begin)
    await begin
  }

  async #begin(accountId: string): Promise<void> {
    const posting = this.#posting()
    const instant = await this.#ledger.startDiemDay(accountId, posting)
    this.#aheadMs = instant.getTime() - posting.at.getTime()
    this.#begunDay.set(accountId, utcDay(instant))
  }

  /** The DIEM granted so far on the current UTC day, in nano-DIEM. */
  async grantedToday(accountId: string): Promise<bigint> {
    return this.#ledger.allowanceSince(accountId, utcMidnight(this.now()))
  }

  /** Applies a change of stake: an increase counts today, a decrease from the next day. */
  async stakeChanged(accountId: string): Promise<void> {
    await this.#ledger.grantDiemRise(accountId, this.#posting())
  }

  /** Expires the unused part of an earlier day's hold, because it belongs to that day. */
  async expireRest({ accountId, requestId, day }: EndedHold, restNano: bigint): Promise<void> {
    if (day === utcDay(this.now())) return
    await this.#ledger.expireDiemRest({ accountId, requestId, day, restNano }, this.#posting())
  }

  #toLedger(instant: Date): Date {
    return this.#aheadMs === 0 ? instant : new Date(instant.getTime() + this.#aheadMs)
  }

  #posting(): Posting {
    return { at: this.#clock.now(), newId: () => this.#ids.uuid() }
  }
}
