import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { IdSource } from '../ids.ts'
import type { Currency } from '../money.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../page.ts'
import type { BalanceFeed } from './balance-feed.ts'
import type { DiemAllowance } from './diem-allowance.ts'
import type { AccountBalances, Balance, LedgerTransfer } from './ledger.ts'
import type { LedgerRepository } from './ledger-repository.ts'
import type { Verification, VerifyRepository } from './verify-repository.ts'

/** Sequences below which the next page continues; an empty string is a currency not reached yet. */
const LedgerCursor = z.tuple([z.string().regex(/^\d*$/), z.string().regex(/^\d*$/)])

export interface GrantInput {
  accountId: string
  amountNanoUsd: bigint
  reason: string
  /** A repeat with the same reference posts nothing and answers with the first transfer. */
  reference?: string
}

export interface LedgerServiceDependencies {
  ledger: LedgerRepository
  verification: VerifyRepository
  diemAllowance: DiemAllowance
  balanceFeed: BalanceFeed
  clock: Clock
  ids: IdSource
}

/** Balances and their double-entry history (design section 5). Amounts are nano-USD. */
export class LedgerService {
  readonly #deps: LedgerServiceDependencies

  constructor(deps: LedgerServiceDependencies) {
    this.#deps = deps
  }

  /** Both currencies, USD first, today's DIEM allowance included. */
  async balances(accountId: string): Promise<Balance[]> {
    await this.#deps.diemAllowance.ensure(accountId, this.#deps.clock.now())
    return (await this.#deps.ledger.balancesOf([accountId])).get(accountId) ?? []
  }

  /**
   * Adds (or, negative, takes) USD by an operator's word. Fails with `not_found` for an unknown account and `conflict`
   * when less than the amount is free.
   */
  async grant({ accountId, amountNanoUsd, reason, reference }: GrantInput): Promise<LedgerTransfer> {
    if (amountNanoUsd === 0n)
      throw new DomainError('invalid_request', 'The amount is zero; name one that moves the balance')
    const transfer = await this.#deps.ledger.inTransaction(async (ledger) => {
      const balance = await ledger.lockBalance(accountId, 'usd')
      if (balance === undefined) throw new DomainError('not_found', 'No such account')
      const before = reference === undefined ? undefined : await ledger.findByReference(accountId, reference)
      if (before !== undefined) return before
      if (balance.balance_nano - balance.held_nano + amountNanoUsd < 0n) {
        throw new DomainError('conflict', 'The account has less free balance than the correction takes')
      }
      return ledger.post(balance, {
        transferId: this.#deps.ids.uuid(),
        kind: amountNanoUsd > 0n ? 'grant' : 'correction',
        amountNano: amountNanoUsd,
        counterAccount: 'platform:grants',
        reference: reference ?? null,
        reason,
        createdAt: this.#deps.clock.now(),
      })
    })
    this.#deps.balanceFeed.changed(accountId)
    return transfer
  }

  /** To be called after the account's stake was changed. */
  async stakeChanged(accountId: string): Promise<void> {
    await this.#deps.diemAllowance.stakeChanged(accountId)
    this.#deps.balanceFeed.changed(accountId)
  }

  /** Transfers of both currencies, newest first. Fails with `invalid_request` on a cursor of another list or account. */
  async listTransfers(accountId: string, page: PageRequest): Promise<Page<LedgerTransfer>> {
    const scope = { list: 'ledger', accountId }
    const [usd, diem] = page.after ? decodeCursor(scope, LedgerCursor, page.after) : (['', ''] as const)
    const reached: Record<Currency, string> = { usd, diem }
    const read = (currency: Currency): Promise<LedgerTransfer[]> =>
      this.#deps.ledger.listTransfers(accountId, currency, {
        limit: page.first + 1,
        beforeSequence: reached[currency] === '' ? null : BigInt(reached[currency]),
      })
    const rows = (await Promise.all([read('usd'), read('diem')]))
      .flat()
      .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || Number(b.sequence - a.sequence))
    return toPage(rows.slice(0, page.first + 1), page.first, {
      scope,
      keyOf: (transfer) => {
        reached[transfer.currency] = transfer.sequence.toString()
        return [reached.usd, reached.diem]
      },
    })
  }

  /** The account's balances now and after every change, coalesced; ends when `signal` aborts. */
  async *balanceChanges(accountId: string, signal: AbortSignal): AsyncGenerator<AccountBalances, void> {
    await this.#deps.diemAllowance.ensure(accountId, this.#deps.clock.now())
    yield* this.#deps.balanceFeed.watch(accountId, signal)
  }

  /** Proves the invariants of the money path over the whole database. */
  verify(): Promise<Verification> {
    return this.#deps.verification.verify()
  }
}
