import type { ApiPromise } from '../http/api-promise.ts'
import type { Pages } from '../http/pages.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import { ACCOUNT, LEDGER_PAGE } from './operations.ts'
import type { AccountDetails, LedgerEntry } from './records.ts'
import { firstOf, listOfViewer, type PageOptions, readViewer } from './viewer.ts'

/** The account that the credential belongs to. */
export class Account {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Name, tier and balances: whole, held by running requests, and free to spend.
   *
   * @example
   * const { balances } = await sluice.account.retrieve()
   * console.log(balances.find(({ currency }) => currency === 'USD')?.free)
   */
  retrieve(options?: RequestOptions): ApiPromise<AccountDetails> {
    const toData = (viewer: AccountDetails): AccountDetails => viewer
    return readViewer(this.#transport, { document: ACCOUNT, variables: {}, toData }, options)
  }
}

/** Every posting that made the balances what they are. */
export class Ledger {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * The postings of both currencies, newest first.
   *
   * @example
   * for await (const { createdAt, kind, amount } of sluice.ledger.list()) console.log(createdAt, kind, amount)
   */
  list(page: PageOptions = {}, options?: RequestOptions): Pages<LedgerEntry> {
    const list = { document: LEDGER_PAGE, variables: firstOf(page) }
    return listOfViewer(this.#transport, { ...list, toConnection: ({ ledger }) => ledger }, options)
  }
}
