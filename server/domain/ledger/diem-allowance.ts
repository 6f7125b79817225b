import { type Clock, utcDay, utcMidnight } from '../clock.ts'
import type { IdSource } from '../ids.ts'
import type { Hold } from '../metering/hold.ts'
import { RecentCache } from '../recent-cache.ts'
import type { LedgerRepository, LedgerTransaction, LockedBalance } from './ledger-repository.ts'

const ACCOUNTS_REMEMBERED_MAX = 100_000
const STAKE_ACCOUNT = 'platform:stake'

/**
 * The daily DIEM allowance: what stake grants at 00:00 UTC, and what of yesterday's expires then (specification,
 * Authentication 3). It is posted lazily, by the first request of an account on a day, once whoever comes first.
 */
export class DiemAllowance {
  readonly #ledger: LedgerRepository
  readonly #clock: Clock
  readonly #ids: IdSource
  /** Accounts whose current day is known to be posted: one database look a day and process. */
  readonly #postedDay = new RecentCache<string>({ entriesMax: ACCOUNTS_REMEMBERED_MAX })

  readonly #looks = new Map<string, Promise<void>>()

  constructor(deps: { ledger: LedgerRepository; clock: Clock; ids: IdSource }) {
    this.#ledger = deps.ledger
    this.#clock = deps.clock
    this.#ids = deps.ids
  }

  /** Makes sure that the allowance of the instant's UTC day stands. */
  async ensure(accountId: string, instant: Date): Promise<void> {
    const day = utcDay(instant)
    if (this.#postedDay.get(accountId) === day) return
    // One look for all that wait: they go on in the order in which they came.
    const look = this.#looks.get(accountId) ?? this.#look(accountId, day).finally(() => this.#looks.delete(accountId))
    this.#looks.set(accountId, look)
    await look
  }

  async #look(accountId: string, day: string): Promise<void> {
    const postedDay = await this.#ledger.epochDayOf(accountId)
    if (postedDay !== undefined && (postedDay === null || postedDay < day)) {
      await this.#ledger.inTransaction((ledger) => this.#startDay(ledger, accountId, day))
    }
    this.#postedDay.set(accountId, day)
  }

  /** What of the instant's UTC day was granted so far, in nano-DIEM. */
  async grantedToday(accountId: string): Promise<bigint> {
    return this.#ledger.allowanceSince(accountId, utcMidnight(this.#clock.now()))
  }

  /** After a change of stake: an increase counts today already, a decrease from the next day on. */
  async stakeChanged(accountId: string): Promise<void> {
    await this.#ledger.inTransaction((ledger) => this.grantRise(ledger, accountId))
  }

  /** The same within the transaction that stored the change, so that no crash can part the two. */
  async grantRise(ledger: LedgerTransaction, accountId: string): Promise<void> {
    const today = this.#clock.now()
    await ledger.createBalance(accountId, 'diem')
    await this.#startDay(ledger, accountId, utcDay(today))
    const balance = await ledger.lockBalance(accountId, 'diem')
    if (balance === undefined) return
    // Compared with what today was granted already, so that two changes at once cannot grant one increase twice.
    const stakeNano = await ledger.stakeOf(accountId, utcDay(today))
    await ledger.recordStake(accountId, utcDay(today), stakeNano)
    const amountNano = stakeNano - (await ledger.allowanceSince(accountId, utcMidnight(today)))
    if (amountNano > 0n) await this.#post(ledger, balance, { kind: 'diem_allowance', amountNano, reference: null })
  }

  /** What a hold of an earlier day did not use belongs to that day and expires with it. */
  async expireRest(hold: Pick<Hold, 'accountId' | 'requestId' | 'admittedAt'>, restNano: bigint): Promise<void> {
    if (utcDay(hold.admittedAt) === utcDay(this.#clock.now())) return
    await this.#ledger.inTransaction(async (ledger) => {
      const balance = await ledger.lockBalance(hold.accountId, 'diem')
      if (balance === undefined || balance.epoch_day === utcDay(hold.admittedAt)) return
      const reference = `diem-rest:${hold.requestId}`
      if ((await ledger.findByReference(hold.accountId, reference)) !== undefined) return
      await this.#expire(ledger, balance, { upToNano: restNano, reference })
    })
  }

  async #startDay(ledger: LedgerTransaction, accountId: string, day: string): Promise<void> {
    const balance = await ledger.lockBalance(accountId, 'diem')
    if (balance === undefined || (balance.epoch_day !== null && balance.epoch_day >= day)) return
    await this.#expire(ledger, balance, { upToNano: balance.balance_nano, reference: `diem-expiry:${day}` })
    const amountNano = await ledger.stakeOf(accountId, day)
    await ledger.recordStake(accountId, day, amountNano)
    const reference = `diem-allowance:${day}`
    if (amountNano > 0n) await this.#post(ledger, balance, { kind: 'diem_allowance', amountNano, reference })
    await ledger.setEpochDay(accountId, day)
  }

  /** Open holds keep what they set aside; only the free part can expire. */
  async #expire(
    ledger: LedgerTransaction,
    balance: LockedBalance,
    { upToNano, reference }: { upToNano: bigint; reference: string },
  ): Promise<void> {
    const freeNano = balance.balance_nano - balance.held_nano
    const amountNano = upToNano < freeNano ? upToNano : freeNano
    if (amountNano > 0n) await this.#post(ledger, balance, { kind: 'diem_expiry', amountNano: -amountNano, reference })
  }

  async #post(
    ledger: LedgerTransaction,
    balance: LockedBalance,
    posting: { kind: 'diem_allowance' | 'diem_expiry'; amountNano: bigint; reference: string | null },
  ): Promise<void> {
    await ledger.post(balance, {
      ...posting,
      transferId: this.#ids.uuid(),
      counterAccount: STAKE_ACCOUNT,
      reason: null,
      createdAt: this.#clock.now(),
    })
  }
}
