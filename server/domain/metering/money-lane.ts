import { isLockTimeout, isTransientDatabaseFailure } from '../database-failure.ts'
import { ContendedAccounts, type ContendedOutcome } from './contended-accounts.ts'
import { LaneEntry } from './lane-entry.ts'
import type { AdmitDecision, AdmitItem, MoneyItem, MoneyResult, SettleDecision, SettleItem } from './money-item.ts'

/** Largest batch; bounds the time that one database call may take. */
const BATCH_ENTRIES_MAX = 512
/** Admissions beyond it are rejected at once: they would wait longer than their deadline. Settlements always enter. */
const WAITING_ENTRIES_MAX = 5_000
/** How often an account may be found locked in the main lane: by chance, another process is at it for a moment. */
const BUSY_COUNT_MAX = 6
/** A batch of nothing but locked accounts waits twice as long each time, unless something else arrives. */
const BUSY_DELAY_MS_MAX = 32
/** Under load a batch starts at most this often: fuller batches cost less. */
const PACE_MS = 2
const TICK_MS = 250
const RETRY_DELAY_MS = 50
const RETRY_DELAY_MS_MAX = 1_000

export interface MoneyLaneDeps {
  /** One result per item, in order. With `waits` it waits for locked accounts, otherwise it returns `busy` for them. */
  send: (items: readonly MoneyItem[], options: { waits: boolean }) => Promise<readonly MoneyResult[]>
  wait: (milliseconds: number) => Promise<void>
}

export interface SubmitOptions {
  /** After so long without a decision the item is given up. */
  patienceMs: number
  signal?: AbortSignal | undefined
}

/**
 * The way of all admissions and settlements to the database. It collects what arrives while the previous batch is in
 * flight and sends it as one call: a lone item leaves at once, a busy process shares one commit among hundreds. One
 * batch is in flight at a time, so items of an account keep their arrival order. No batch waits for a locked account:
 * such an account leaves the main lane until it is free.
 */
export class MoneyLane {
  readonly #deps: MoneyLaneDeps
  readonly #contended: ContendedAccounts
  #waiting: LaneEntry[] = []
  /** Entries that have not ended, wherever they are. */
  #open = new Set<LaneEntry>()
  #scheduled = false
  #flushing = false
  /** Ends the wait for locked accounts. */
  #onArrival: (() => void) | undefined
  #lostInARow = 0
  #idle: (() => void)[] = []
  #tick = 0
  /** When the database last decided a batch, or the lane began to wait for it. */
  #progressTick = 0
  #ticking: NodeJS.Timeout | undefined

  constructor(deps: MoneyLaneDeps) {
    this.#deps = deps
    this.#contended = new ContendedAccounts((batch) => this.#sendContended(batch))
  }

  /** Fails with a `LaneRejection`, or with what the database rejected the item with. */
  submit(item: SettleItem, options: SubmitOptions): Promise<SettleDecision>
  submit(item: AdmitItem, options: SubmitOptions): Promise<AdmitDecision>
  submit(item: MoneyItem, { patienceMs, signal }: SubmitOptions): Promise<MoneyResult> {
    const lastTick = this.#tick + Math.ceil(patienceMs / TICK_MS)
    const entry: LaneEntry = new LaneEntry({ item, lastTick, signal, ended: () => this.#ended(entry) })
    const isFull = item.kind === 'admit' && this.#open.size >= WAITING_ENTRIES_MAX
    if (this.#open.size === 0) this.#progressTick = this.#tick
    this.#open.add(entry)
    this.#ticking ??= setInterval(() => this.#onTick(), TICK_MS).unref()
    if (isFull) entry.giveUp('full')
    else if (!this.#contended.accept(entry)) {
      this.#waiting.push(entry)
      this.#onArrival?.()
      this.#schedule()
    }
    return entry.result
  }

  /** Resolves when nothing is waiting or in flight. */
  drained(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  /** How long the database has decided nothing while entries wait for it. */
  stalledMs(): number {
    return this.#open.size === 0 ? 0 : (this.#tick - this.#progressTick) * TICK_MS
  }

  #ended(entry: LaneEntry): void {
    this.#open.delete(entry)
    if (this.#open.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  #onTick(): void {
    this.#tick++
    this.#contended.onTick(this.#tick)
    for (const entry of this.#open) if (entry.lastTick <= this.#tick) entry.giveUp('late')
    if (this.#open.size > 0 || !this.#contended.isEmpty) return
    clearInterval(this.#ticking)
    this.#ticking = undefined
  }

  #schedule(): void {
    if (this.#scheduled || this.#flushing) return
    this.#scheduled = true
    // After the poll phase: requests that were read in one turn of the event loop leave in one batch.
    setImmediate(() => {
      this.#scheduled = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    this.#flushing = true
    while (this.#waiting.length > 0) {
      await this.#pauseForBusy()
      const batch = this.#waiting.splice(0, BATCH_ENTRIES_MAX).filter((entry) => entry.mayBeSent())
      const delivery = this.#deliver(batch)
      await (batch.length > 1 ? Promise.all([delivery, this.#deps.wait(PACE_MS)]) : delivery)
    }
    this.#flushing = false
  }

  async #pauseForBusy(): Promise<void> {
    if (this.#waiting.some((entry) => entry.busyCount === 0)) return
    const busyCount = this.#waiting[0]?.busyCount ?? 0
    const arrival = new Promise<void>((resolve) => (this.#onArrival = resolve))
    await Promise.race([arrival, this.#deps.wait(Math.min(2 ** busyCount, BUSY_DELAY_MS_MAX))])
    this.#onArrival = undefined
  }

  async #deliver(batch: readonly LaneEntry[]): Promise<void> {
    if (batch.length === 0) return
    try {
      const results = await this.#send(batch, false)
      this.#lostInARow = 0
      this.#requeueBusy(batch.filter((entry, index) => !endBy(entry, results[index])))
    } catch (error) {
      if (isTransientDatabaseFailure(error)) return this.#queueAgain(batch)
      // Alone it is the one at fault; several are sorted out account by account, away from the others.
      if (batch.length === 1 && !isLockTimeout(error)) batch[0]?.reject(error)
      this.#waiting.unshift(...batch.filter((entry) => !entry.ended))
      this.#contend(batch)
    }
  }

  async #send(batch: readonly LaneEntry[], waits: boolean): Promise<readonly MoneyResult[]> {
    const items = batch.map((entry) => entry.item)
    try {
      const results = await this.#deps.send(items, { waits })
      this.#progressTick = this.#tick
      return results
    } catch (error) {
      if (!isTransientDatabaseFailure(error)) this.#progressTick = this.#tick
      throw error
    }
  }

  /** Puts entries back before all others, which leave with them. */
  async #queueAgain(batch: readonly LaneEntry[]): Promise<void> {
    for (const entry of batch) entry.returnUncertain()
    this.#waiting.unshift(...batch.filter((entry) => !entry.ended))
    if (this.#waiting.length === 0) return
    await this.#deps.wait(Math.min(RETRY_DELAY_MS * 2 ** this.#lostInARow++, RETRY_DELAY_MS_MAX))
  }

  /** By chance an account is locked for a moment; one that is locked again and again leaves the main lane. */
  #requeueBusy(busy: readonly LaneEntry[]): void {
    for (const entry of busy) entry.busyCount++
    this.#waiting.unshift(...busy.filter((entry) => !entry.ended))
    this.#contend(busy.filter((entry) => entry.busyCount >= BUSY_COUNT_MAX))
  }

  /** Takes the accounts of these entries out of the main lane, with what waits of them. */
  #contend(entries: readonly LaneEntry[]): void {
    if (entries.length === 0) return
    const byAccount = new Map<string, LaneEntry[]>()
    for (const { accountId } of entries) byAccount.set(accountId, [])
    for (const entry of this.#waiting) byAccount.get(entry.accountId)?.push(entry)
    this.#waiting = this.#waiting.filter((entry) => !byAccount.has(entry.accountId))
    for (const [accountId, ofAccount] of byAccount) this.#contended.add(accountId, ofAccount)
  }

  async #sendContended(batch: readonly LaneEntry[]): Promise<ContendedOutcome> {
    try {
      const results = await this.#send(batch, true)
      const busy = batch.filter((entry, index) => !endBy(entry, results[index]))
      return busy.length === 0 ? 'done' : 'retry'
    } catch (error) {
      if (isTransientDatabaseFailure(error)) {
        for (const entry of batch) entry.returnUncertain()
        await this.#deps.wait(RETRY_DELAY_MS)
        return 'retry'
      }
      if (isLockTimeout(error)) return 'locked'
      if (batch.length > 1) return 'split'
      batch[0]?.reject(error)
      return 'rejected'
    }
  }
}

/** False when the account was locked, so that the entry goes on. */
function endBy(entry: LaneEntry, result: MoneyResult | undefined): boolean {
  if (result === undefined) throw new Error('the database returned no result for an item of its batch')
  if (result.kind === 'busy') return false
  entry.resolve(result)
  return true
}
