import { type ApiPromise, toApiPromise } from '../http/api-promise.ts'
import type { Pages } from '../http/pages.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import { signChallenge } from '../wallet/sign-in.ts'
import type { Wallet } from '../wallet/wallet.ts'
import { pickFromOperation } from './graphql-client.ts'
import {
  ACCOUNT,
  LEDGER_PAGE,
  LINK_WALLET,
  LINKED_WALLETS,
  type LinkWalletData,
  UNLINK_WALLET,
  type UnlinkWalletData,
  WALLET_LINK_CHALLENGE,
  type WalletLinkChallengeData,
} from './operations.ts'
import type { AccountDetails, LedgerEntry, LinkedWallet, SignInMessage, WalletLink } from './records.ts'
import { firstOf, listOfViewer, type PageOptions, readViewer, requireField } from './viewer.ts'

/** The account that the credential belongs to. */
export class Account {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Name, tier and balances: total, held by running requests, and free.
   *
   * @example
   * const { balances } = await sluice.account.retrieve()
   * console.log(balances.find(({ currency }) => currency === 'USD')?.free)
   */
  retrieve(options?: RequestOptions): ApiPromise<AccountDetails> {
    const toData = (viewer: AccountDetails): AccountDetails => viewer
    return readViewer(this.#transport, { document: ACCOUNT, variables: {}, toData }, options)
  }

  /**
   * The wallets linked to this account, in the order in which they were linked; at most 20. All methods for links
   * require an ADMIN key.
   */
  wallets(options?: RequestOptions): ApiPromise<LinkedWallet[]> {
    const toData = ({ wallets }: { wallets: LinkedWallet[] | null }): LinkedWallet[] => requireField(wallets)
    return readViewer(this.#transport, { document: LINKED_WALLETS, variables: {}, toData }, options)
  }

  /**
   * Links a wallet to this account: its requests and payments then count for the account, and its free balance moves
   * here. Accepts the wallet, or the result of `signChallenge` for a wallet elsewhere. Throws ConflictError if the
   * wallet is linked to another account.
   *
   * @example
   * const { movedUsd } = await sluice.account.linkWallet(wallet)
   */
  linkWallet(wallet: Wallet | string, options?: RequestOptions): ApiPromise<WalletLink> {
    return toApiPromise(this.#linkWallet(wallet, options))
  }

  /** A message for `linkWallet`, which must be signed within five minutes. */
  walletLinkChallenge(options?: RequestOptions): ApiPromise<SignInMessage> {
    const toResult = ({ walletLinkChallenge }: WalletLinkChallengeData): SignInMessage => walletLinkChallenge.info
    return pickFromOperation(this.#transport, { document: WALLET_LINK_CHALLENGE, variables: {}, toResult }, options)
  }

  /**
   * Unlinks a wallet, which then uses its own account again. No money moves. Throws NotFoundError if the wallet is not
   * linked to this account.
   */
  unlinkWallet(address: string, options?: RequestOptions): ApiPromise<LinkedWallet> {
    const toResult = ({ unlinkWallet }: UnlinkWalletData): LinkedWallet => unlinkWallet.linkedWallet
    return pickFromOperation(this.#transport, { document: UNLINK_WALLET, variables: { address }, toResult }, options)
  }

  async #linkWallet(wallet: Wallet | string, options: RequestOptions | undefined) {
    const payload =
      typeof wallet === 'string' ? wallet : await signChallenge(wallet, await this.walletLinkChallenge(options))
    const toResult = (data: LinkWalletData): WalletLink => data.linkWallet
    const operation = { document: LINK_WALLET, variables: { payload }, toResult }
    return pickFromOperation(this.#transport, operation, options).withResponse()
  }
}

/** The ledger transfers of the account. */
export class Ledger {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * The ledger transfers in both currencies, newest first.
   *
   * @example
   * for await (const { createdAt, kind, amount } of sluice.ledger.list()) console.log(createdAt, kind, amount)
   */
  list(page: PageOptions = {}, options?: RequestOptions): Pages<LedgerEntry> {
    const list = { document: LEDGER_PAGE, variables: firstOf(page) }
    return listOfViewer(this.#transport, { ...list, toConnection: ({ ledger }) => ledger }, options)
  }
}
