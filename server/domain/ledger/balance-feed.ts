import type { Log } from '../log.ts'
import type { PubSub } from '../pub-sub.ts'
import type { AccountBalances } from './ledger.ts'
import type { LedgerRepository } from './ledger-repository.ts'

const CHANNEL = 'balances'
/** Changes within one interval travel together: a watcher hears of a commit within two intervals and a read. */
const COALESCE_MS = 50

type Watcher = (balances: AccountBalances) => void

/**
 * Tells watchers of an account's balance that it changed, across processes. Only the account's id travels; the value is
 * read from the database, once per interval for all watched accounts, so what a watcher sees was committed.
 */
export class BalanceFeed {
  readonly #pubSub: PubSub
  readonly #ledger: LedgerRepository
  readonly #log: Log
  readonly #changed = new Set<string>()
  readonly #stale = new Set<string>()
  readonly #watchers = new Map<string, Set<Watcher>>()
  #publishTimer: NodeJS.Timeout | undefined
  #readTimer: NodeJS.Timeout | undefined
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(deps: { pubSub: PubSub; ledger: LedgerRepository; log: Log }) {
    this.#pubSub = deps.pubSub
    this.#ledger = deps.ledger
    this.#log = deps.log
  }

  async start(): Promise<void> {
    this.#unsubscribe = await this.#pubSub.subscribe(CHANNEL, (message) => {
      for (const accountId of message.split(',')) {
        if (this.#watchers.has(accountId)) this.#stale.add(accountId)
      }
      if (this.#stale.size > 0) this.#readTimer ??= setTimeout(() => void this.#deliver(), COALESCE_MS)
    })
  }

  /** To be called after a commit that moved the account's balance or held amount. */
  changed(accountId: string): void {
    this.#changed.add(accountId)
    this.#publishTimer ??= setTimeout(() => {
      this.#publishTimer = undefined
      this.#pubSub.publish(CHANNEL, [...this.#changed].join(','))
      this.#changed.clear()
    }, COALESCE_MS)
  }

  /**
   * The account's balances: the current ones at once, then again whenever they changed. A slow reader skips to the
   * newest value. Ends when `signal` aborts.
   */
  async *watch(accountId: string, signal: AbortSignal): AsyncGenerator<AccountBalances, void> {
    let newest: AccountBalances | undefined
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
        if (value !== undefined && !signal.aborted) yield value
      }
    } finally {
      signal.removeEventListener('abort', stop)
      this.#remove(accountId, watcher)
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.#publishTimer)
    clearTimeout(this.#readTimer)
    await this.#unsubscribe?.()
  }

  async #deliver(): Promise<void> {
    const accountIds = [...this.#stale].filter((accountId) => this.#watchers.has(accountId))
    this.#stale.clear()
    this.#readTimer = undefined
    if (accountIds.length === 0) return
    try {
      const balances = await this.#ledger.balancesOf(accountIds)
      for (const accountId of accountIds) {
        const value = { accountId, balances: balances.get(accountId) ?? [] }
        for (const watcher of this.#watchers.get(accountId) ?? []) watcher(value)
      }
    } catch (error) {
      this.#log.warn('balances could not be read for their watchers; the next change reads them again', { error })
    }
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
