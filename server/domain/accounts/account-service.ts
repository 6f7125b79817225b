import { z } from 'zod'
import type { ApiKeyIssuer } from '../api-keys/api-key-issuer.ts'
import type { AccountTier } from '../caller.ts'
import type { Clock } from '../clock.ts'
import { accountMissing } from '../errors.ts'
import type { IdSource } from '../ids.ts'
import type { KeyEvents } from '../key-events.ts'
import type { LedgerTransfer } from '../ledger/ledger.ts'
import type { LedgerRepository } from '../ledger/ledger-repository.ts'
import type { LedgerService } from '../ledger/ledger-service.ts'
import { CursorInstant, decodeCursor, type Page, toPage } from '../page.ts'
import { isUuid } from '../validation/uuid.ts'
import { type Account, type AccountWithBalances } from './account.ts'
import type { AccountPosition, AccountRepository, AccountUpdate } from './account-repository.ts'
import { type BillingBalance, toBillingBalance } from './billing-balance.ts'
import type { CreateAccountInput, GrantAccountInput, ListAccountsInput } from './inputs.ts'

const CURSOR_SCOPE = { list: 'accounts', accountId: 'platform' }
const AccountCursor = z.tuple([CursorInstant, z.uuid()])

export interface AccountServiceDeps {
  accounts: AccountRepository
  issuer: ApiKeyIssuer
  ledger: Pick<LedgerService, 'grant' | 'stakeChanged' | 'balances' | 'diemEpoch'>
  balances: Pick<LedgerRepository, 'balancesOf'>
  events: KeyEvents
  clock: Clock
  ids: IdSource
}

/** Account management for the operator. Amounts are nano-USD; an unknown account fails with `not_found`. */
export class AccountService {
  readonly #deps: AccountServiceDeps

  constructor(deps: AccountServiceDeps) {
    this.#deps = deps
  }

  /** Creates an account with an ADMIN key, whose secret is only in this response, and grants it `grantNanoUsd`. */
  async create(input: CreateAccountInput): Promise<{ account: AccountWithBalances; adminKey: string }> {
    const account: Account = {
      id: this.#deps.ids.uuid(),
      name: input.name,
      kind: 'user',
      tier: input.tier,
      stakeDiemNano: 0n,
      wallet: null,
      createdAt: this.#deps.clock.now(),
      suspension: null,
    }
    const key = this.#deps.issuer.issue(account.id, {
      type: 'ADMIN',
      description: 'First key',
      limits: { usdNano: null, diemNano: null },
      limitPeriod: 'EPOCH',
      modelPrivacy: 'ALL',
      expiresAt: null,
    })
    await this.#deps.accounts.insert(account, key)
    if (input.grantNanoUsd > 0n) {
      const reason = 'Granted when the account was created'
      await this.#deps.ledger.grant({ accountId: account.id, amountNanoUsd: input.grantNanoUsd, reason })
    }
    return { account: await this.#withBalances(account), adminKey: key.secret }
  }

  /** One page of matching accounts, newest first. Fails with `invalid_request` on a cursor of another list. */
  async list({ first, after, ...filter }: ListAccountsInput): Promise<Page<AccountWithBalances>> {
    const before = after == null ? undefined : positionOf(decodeCursor(CURSOR_SCOPE, AccountCursor, after))
    const accounts = await this.#deps.accounts.list(filter, { limit: first + 1, before })
    const ids = accounts.map((account) => account.id)
    const balances = ids.length === 0 ? new Map() : await this.#deps.balances.balancesOf(ids)
    const rows = accounts.map((account) => ({ ...account, balances: balances.get(account.id) ?? [] }))
    return toPage(rows, first, { scope: CURSOR_SCOPE, keyOf: ({ createdAt, id }) => [createdAt.toISOString(), id] })
  }

  /** The account without its balances, in one read. Fails with `not_found`. */
  describe(accountId: string): Promise<Account> {
    return this.#require(accountId)
  }

  async get(accountId: string): Promise<AccountWithBalances> {
    return this.#withBalances(await this.#require(accountId))
  }

  /** The account's balances, and the currency of its next request (`GET /billing/balance`). */
  async billingBalance(accountId: string): Promise<BillingBalance> {
    const { ledger } = this.#deps
    const balances = await ledger.balances(accountId)
    return toBillingBalance(balances, (await ledger.diemEpoch(accountId)).allocationNano)
  }

  /** Credits USD, or debits it if negative; a repeat with the same reference changes nothing. */
  async grant({ reference, ...grant }: GrantAccountInput): Promise<LedgerTransfer> {
    await this.#require(grant.accountId)
    return this.#deps.ledger.grant(reference === undefined ? grant : { ...grant, reference })
  }

  async rename(accountId: string, name: string): Promise<AccountWithBalances> {
    return this.#withBalances(await this.#update(accountId, { name }))
  }

  /** Changes the account's tier, whose limits apply within a second in every process. */
  async setTier(accountId: string, tier: AccountTier): Promise<AccountWithBalances> {
    const account = await this.#update(accountId, { tier })
    this.#deps.events.announce({ kind: 'account-changed', id: account.id })
    return this.#withBalances(account)
  }

  /**
   * Suspends an account. Within a second its keys are rejected in every process; its streams and live connections end
   * within 5 seconds. Other running requests finish and are charged. The balance stays. A repeat updates the reason.
   */
  async suspend(accountId: string, reason: string): Promise<AccountWithBalances> {
    return this.#setSuspension(accountId, { since: this.#deps.clock.now(), reason })
  }

  /** Undoes `suspend`; no effect on an account that is not suspended. */
  async resume(accountId: string): Promise<AccountWithBalances> {
    return this.#setSuspension(accountId, null)
  }

  /** Sets the daily DIEM allowance: an increase applies today, a decrease from the next UTC day. */
  async setStake(accountId: string, stakeDiemNano: bigint): Promise<AccountWithBalances> {
    const known = isUuid(accountId) && (await this.#deps.accounts.setStake(accountId, stakeDiemNano))
    if (!known) throw accountMissing(accountId)
    await this.#deps.ledger.stakeChanged(accountId)
    return this.get(accountId)
  }

  async #setSuspension(accountId: string, suspension: Account['suspension']): Promise<AccountWithBalances> {
    const account = await this.#update(accountId, { suspension })
    this.#deps.events.announce({ kind: 'account-changed', id: account.id })
    return this.#withBalances(account)
  }

  async #update(accountId: string, update: AccountUpdate): Promise<Account> {
    const account = isUuid(accountId) ? await this.#deps.accounts.update(accountId, update) : undefined
    if (account === undefined) throw accountMissing(accountId)
    return account
  }

  async #require(accountId: string): Promise<Account> {
    const account = isUuid(accountId) ? await this.#deps.accounts.find(accountId) : undefined
    if (account === undefined) throw accountMissing(accountId)
    return account
  }

  async #withBalances(account: Account): Promise<AccountWithBalances> {
    return { ...account, balances: await this.#deps.ledger.balances(account.id) }
  }
}

function positionOf([createdAt, accountId]: z.output<typeof AccountCursor>): AccountPosition {
  return { createdAt: new Date(createdAt), accountId }
}
