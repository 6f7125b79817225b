import type { WalletCaller } from '../caller.ts'
import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { KeyEvents } from '../key-events.ts'
import { RecentCache } from '../recent-cache.ts'
import { accountIdOf } from './wallet-account-id.ts'
import type { WalletAccountRepository, WalletAccountSettings } from './wallet-account-repository.ts'
import type { WalletAddress } from './wallet-address.ts'

/** How long old settings can stay in effect if a message between processes is lost. */
const CACHE_AGE_MS_MAX = 5_000
const CACHED_ACCOUNTS_MAX = 50_000
/** Settings of a wallet without credit, whose account has no row. */
const FRESH: Omit<WalletAccountSettings, 'accountId'> = { tier: 'standard', suspended: false, limitOverrides: null }

interface WalletAccount extends WalletAccountSettings {
  loadedAtMs: number
}

export interface WalletAccountsDeps {
  repository: Pick<WalletAccountRepository, 'find'>
  events: KeyEvents
  stakes: { notice(wallet: WalletAddress): void }
  clock: Clock
}

/**
 * Finds the account that a wallet uses, its own or its linked one, and the account's settings. Reads the database at most
 * every 5 seconds; links and operator changes reach this cache as events.
 */
export class WalletAccounts {
  readonly #deps: WalletAccountsDeps
  /** Keyed by the id of the wallet's own account, even if the wallet is linked to another. */
  readonly #known = new RecentCache<WalletAccount>({ entriesMax: CACHED_ACCOUNTS_MAX })
  readonly #loading = new Map<string, Promise<WalletAccount>>()
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #stopListening: () => void

  constructor(deps: WalletAccountsDeps) {
    this.#deps = deps
    this.#stopListening = deps.events.listen(({ kind, id }) => {
      if (kind !== 'account-changed') return
      this.#forget(id)
      for (const listener of this.#listeners.get(id) ?? []) listener()
    })
  }

  /** The caller for an authenticated wallet. Fails with `forbidden` while its account is suspended. */
  async callerOf(wallet: WalletAddress): Promise<WalletCaller> {
    const { accountId, tier, suspended, limitOverrides } = await this.#accountOf(wallet)
    this.#deps.stakes.notice(wallet)
    if (suspended) {
      throw new DomainError('forbidden', 'This account is suspended: ask the operator of the service to resume it')
    }
    return {
      kind: 'wallet',
      accountId,
      keyId: null,
      tier,
      modelPrivacy: 'ALL',
      walletChain: wallet.chain,
      walletAddress: wallet.address,
      ...(limitOverrides === null ? {} : { limitOverrides: { account: limitOverrides, key: null } }),
    }
  }

  /**
   * Calls `listener` whenever the wallet is linked or unlinked, or an operator changes its account. Returns a function
   * that stops listening.
   */
  onChanged({ walletChain, walletAddress, accountId }: WalletCaller, listener: () => void): () => void {
    const ids = new Set([accountIdOf({ chain: walletChain, address: walletAddress }), accountId])
    for (const id of ids) this.#listeners.set(id, (this.#listeners.get(id) ?? new Set()).add(listener))
    return () => {
      for (const id of ids) {
        const listeners = this.#listeners.get(id)
        listeners?.delete(listener)
        if (listeners?.size === 0) this.#listeners.delete(id)
      }
    }
  }

  close(): void {
    this.#stopListening()
    this.#listeners.clear()
  }

  /** Also drops loads in progress, which may have begun before the change and whose account is not known yet. */
  #forget(accountId: string): void {
    this.#loading.clear()
    for (const [ownId, account] of this.#known.entries())
      if (ownId === accountId || account.accountId === accountId) this.#known.delete(ownId)
  }

  #accountOf(wallet: WalletAddress): Promise<WalletAccount> | WalletAccount {
    const ownId = accountIdOf(wallet)
    const known = this.#known.get(ownId)
    if (known !== undefined) {
      const ageMs = this.#deps.clock.nowMs() - known.loadedAtMs
      if (ageMs >= 0 && ageMs < CACHE_AGE_MS_MAX) return known
    }
    return this.#loading.get(ownId) ?? this.#load(ownId, wallet)
  }

  #load(ownId: string, wallet: WalletAddress): Promise<WalletAccount> {
    const load = this.#read(ownId, wallet)
      .then((account) => {
        // An event meanwhile removed this load from the map, because its result may be older than the change.
        if (this.#loading.get(ownId) === load) this.#known.set(ownId, account)
        return account
      })
      .finally(() => {
        if (this.#loading.get(ownId) === load) this.#loading.delete(ownId)
      })
    this.#loading.set(ownId, load)
    return load
  }

  async #read(ownId: string, wallet: WalletAddress): Promise<WalletAccount> {
    const loadedAtMs = this.#deps.clock.nowMs()
    return { ...((await this.#deps.repository.find(wallet)) ?? { ...FRESH, accountId: ownId }), loadedAtMs }
  }
}
