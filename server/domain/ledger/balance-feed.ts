import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../log.ts'
import { ThrottledTask } from '../throttled-task.ts'
import type { AccountChanges } from './account-changes.ts'
import type { AccountBalances } from './ledger.ts'
import type { LedgerRepository } from './ledger-repository.ts'

/** A watcher sees a commit within this interval, the interval of the changes and one read. */
const PACE = { intervalMs: 50, retryMs: 1_000 }
/** Accounts served before the next watchers are woken; otherwise in a burst all would wait for the last one. */
const ACCOUNTS_PER_TURN = 10

type Watcher = (balances: AccountBalances) => void

/**
 * Reports balance changes of accounts to watchers, across processes. The value is read from the database, once per
 * interval for all watched accounts, so watchers see only committed values.
 */
export class BalanceFeed {
  readonly #changes: AccountChanges
  readonly #ledger: LedgerRepository
  readonly #log: Log
  readonly #stale = new Set<string>()
  readonly #watchers = new Map<string, Set<Watcher>>()
  readonly #reading = new ThrottledTask(() => this.#deliver(), PACE)

  constructor(deps: { changes: AccountChanges; ledger: LedgerRepository; log: Log }) {
    this.#changes = deps.changes
    this.#ledger = deps.ledger
    this.#log = deps.log
    deps.changes.listen((accountIds) => {
      for (const accountId of accountIds ?? this.#watchers.keys()) this.#markStale(accountId)
    })
  }

  /** Call after a commit that changed the account's balance or held amount. */
  changed(accountId: string): void {
    this.#changes.changed(accountId)
  }

  /**
   * Yields the account's balances: the current ones first, then each change, never the same twice in a row. A slow reader
   * skips to the newest value. Ends when `signal` aborts.
   */
  async *watch(accountId: string, signal: AbortSignal): AsyncGenerator<AccountBalances, void> {
    let newest: AccountBalances | undefined
    let last: AccountBalances | undefined
    let wake: () => void = () => {}
    const watcher: Watcher = (balances) => {
      newest = balances
      wake()
    }
    const stop = (): void => wake()
    signal.addEventListener('abort', stop)
    this.#add(accountId, watcher)
    try {
      const current = await this.#read(accountId)
      newest ??= current
      while (!signal.aborted) {
        if (newest === undefined) await new Promise<void>((resolve) => (wake = resolve))
        const value: AccountBalances | undefined = newest
        newest = undefined
        // The message for a commit before the first read may arrive after it.
        if (value === undefined || signal.aborted || isDeepStrictEqual(value, last)) continue
        last = value
        yield value
      }
    } finally {
      signal.removeEventListener('abort', stop)
      this.#remove(accountId, watcher)
    }
  }

  stop(): void {
    this.#reading.stop()
  }

  /** False if the database failed; the due accounts then stay due. */
  async #deliver(): Promise<boolean> {
    const accountIds = [...this.#stale].filter((accountId) => this.#watchers.has(accountId))
    this.#stale.clear()
    if (accountIds.length === 0) return true
    try {
      const balances = await this.#ledger.balancesOf(accountIds)
      for (const [index, accountId] of accountIds.entries()) {
        const value = { accountId, balances: balances.get(accountId) ?? [] }
        for (const watcher of this.#watchers.get(accountId) ?? []) watcher(value)
        if (index % ACCOUNTS_PER_TURN === ACCOUNTS_PER_TURN - 1) await setImmediate()
      }
      return true
    } catch (error) {
      for (const accountId of accountIds) this.#markStale(accountId)
      this.#log.warn('balances could not be read for their subscribers; this is retried', { error })
      return false
    }
  }

  #markStale(accountId: string): void {
    if (!this.#watchers.has(accountId)) return
    this.#stale.add(accountId)
    this.#reading.request()
  }

  async #read(accountId: string): Promise<AccountBalances> {
    const balances = await this.#ledger.balancesOf([accountId])
    return { accountId, balances: balances.get(accountId) ?? [] }
  }

  #add(accountId: string, watcher: Watcher): void {
    const watchers = this.#watchers.get(accountId) ?? new Set()
    watchers.add(watcher)
    this.#watchers.set(accountId, watchers)
  }

  #remove(accountId: string, watcher: Watcher): void {
    const watchers = this.#watchers.get(accountId)
    watchers?.delete(watcher)
    if (watchers?.size === 0) this.#watchers.delete(accountId)
  }
}
