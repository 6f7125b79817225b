import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { IdSource } from '../ids.ts'
import type { KeyEvents } from '../key-events.ts'
import type { LedgerService } from '../ledger/ledger-service.ts'
import { invalidField } from '../validation/parse-input.ts'
import type { LinkedWallet } from './linked-wallet.ts'
import type { SignInService } from './sign-in/sign-in-service.ts'
import { accountIdOf } from './wallet-account-id.ts'
import type { WalletAccounts } from './wallet-accounts.ts'
import { parseWalletAddress, type WalletAddress } from './wallet-address.ts'
import type { WalletLinkRepository } from './wallet-link-repository.ts'

export const LINKED_WALLETS_MAX = 20

export interface MadeLink {
  wallet: LinkedWallet
  /** The free funds of the wallet's own account, in nano-USD and nano-DIEM. */
  movedNano: { usd: bigint; diem: bigint }
}

export interface WalletLinksDeps {
  repository: WalletLinkRepository
  signIn: Pick<SignInService, 'proveLink'>
  accounts: Pick<WalletAccounts, 'callerOf'>
  ledger: Pick<LedgerService, 'balances' | 'openDiem'>
  balanceFeed: { changed(accountId: string): void }
  events: KeyEvents
  clock: Clock
  ids: IdSource
}

/**
 * Links wallets to accounts: a linked wallet acts as the account when it signs in and pays. A wallet has at most one
 * link; requests in progress during a change are charged to the account where they began.
 */
export class WalletLinks {
  readonly #deps: WalletLinksDeps

  constructor(deps: WalletLinksDeps) {
    this.#deps = deps
  }

  list(accountId: string): Promise<LinkedWallet[]> {
    return this.#deps.repository.list(accountId)
  }

  /**
   * Links the wallet that signed `payload`, a sign-in whose resources name this account, and moves the free funds of the
   * wallet's own account. Repeated with a fresh signature, it moves funds released since. Fails with `sign_in_refused`,
   * and with `conflict` for a wallet of another account or if the account has 20.
   */
  async link(accountId: string, payload: string, remoteAddress: string): Promise<MadeLink> {
    const { repository, signIn, accounts, clock, ids, balanceFeed } = this.#deps
    const wallet = await signIn.proveLink(payload, remoteAddress, accountId)
    const ownId = accountIdOf(wallet)
    if (ownId === accountId) throw new DomainError('conflict', 'The wallet is already the owner of this account')
    // A link must not let a wallet escape the suspension of its own account.
    await accounts.callerOf(wallet)
    await this.#openDiem(ownId, accountId)
    const outcome = await repository.link({
      wallet,
      accountId,
      now: clock.now(),
      walletsMax: LINKED_WALLETS_MAX,
      newId: () => ids.uuid(),
    })
    if (outcome.kind === 'linked_elsewhere') {
      throw new DomainError('conflict', 'The wallet is linked to another account; unlink it there first')
    }
    if (outcome.kind === 'too_many') {
      const message = `The account has ${LINKED_WALLETS_MAX} wallets, the maximum; unlink one first`
      throw new DomainError('conflict', message, { facts: { walletsMax: LINKED_WALLETS_MAX } })
    }
    this.#announce(wallet)
    for (const id of [ownId, accountId]) balanceFeed.changed(id)
    return outcome
  }

  /**
   * Returns the wallet to its own account; no money moves. Fails with `not_found` for a wallet that is not linked to this
   * account.
   */
  async unlink(accountId: string, address: string): Promise<LinkedWallet> {
    const wallet = parseWalletAddress(address)
    if (wallet === undefined) {
      throw invalidField('address', 'must be 0x and 40 hexadecimal digits, or a Solana address in Base58')
    }
    const unlinked = await this.#deps.repository.unlink(accountId, wallet)
    if (unlinked === undefined) throw new DomainError('not_found', 'The wallet is not linked to this account')
    this.#announce(wallet)
    return unlinked
  }

  /** Grants the day's DIEM first, because DIEM can only move within a day that has begun. */
  async #openDiem(ownId: string, accountId: string): Promise<void> {
    const { ledger } = this.#deps
    const own = await ledger.balances(ownId)
    if (own.some(({ currency }) => currency === 'diem')) await ledger.openDiem(accountId)
  }

  #announce(wallet: WalletAddress): void {
    this.#deps.events.announce({ kind: 'account-changed', id: accountIdOf(wallet) })
  }
}
