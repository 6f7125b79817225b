import { z } from 'zod'
import { type Clock, nextUtcMidnight } from '../clock.ts'
import { DomainError } from '../errors.ts'
import { type IdSource, toUuid } from '../ids.ts'
import { type Currency, formatUsd } from '../money.ts'
import { CursorNumber, decodeCursor, type Page, type PageRequest, toPage } from '../page.ts'
import type { Verification } from '../verify/verification.ts'
import type { Verifier, VerifyProgress } from '../verify/verifier.ts'
import type { BalanceFeed } from './balance-feed.ts'
import type { DiemAllowance } from './diem-allowance.ts'
import type { AccountBalances, Balance, LedgerTransfer } from './ledger.ts'
import type { GrantResult, LedgerRepository } from './ledger-repository.ts'

/** Per currency the last entry returned; empty before the first one. */
const Position = CursorNumber.or(z.literal(''))
const LedgerCursor = z.tuple([Position, Position])

/** Well within the timeouts of clients and proxies. */
const VERIFY_PART_MS = 2_000

export interface GrantInput {
  accountId: string
  amountNanoUsd: bigint
  reason: string
  /** A repeat with the same reference posts nothing and returns the first transfer. */
  reference?: string
}

export interface LedgerServiceDeps {
  ledger: LedgerRepository
  verifier: Verifier
  diemAllowance: DiemAllowance
  balanceFeed: BalanceFeed
  clock: Clock
  ids: IdSource
}

/** Balances and their double-entry history. Amounts are nano-USD. */
export class LedgerService {
  readonly #deps: LedgerServiceDeps

  constructor(deps: LedgerServiceDeps) {
    this.#deps = deps
  }

  /** Both currencies, USD first, today's DIEM allowance included. */
  async balances(accountId: string): Promise<Balance[]> {
    await this.#deps.diemAllowance.ensure(accountId, this.#deps.clock.now())
    return (await this.#deps.ledger.balancesOf([accountId])).get(accountId) ?? []
  }

  /** The DIEM granted to the account for the current UTC day, spent or not, and the end of the day. */
  async diemEpoch(accountId: string): Promise<{ allocationNano: bigint; endsAt: Date }> {
    const { diemAllowance, clock } = this.#deps
    await diemAllowance.ensure(accountId, clock.now())
    return { allocationNano: await diemAllowance.grantedToday(accountId), endsAt: nextUtcMidnight(diemAllowance.now()) }
  }

  /**
   * Credits USD, or debits it if negative. Fails with `not_found` for an unknown account, and with `conflict` if the free
   * balance is too small or the reference belongs to another entry.
   */
  async grant({ accountId, amountNanoUsd, reason, reference }: GrantInput): Promise<LedgerTransfer> {
    if (amountNanoUsd === 0n) throw new DomainError('invalid_request', 'The amount must not be zero')
    const { ledger, clock, ids } = this.#deps
    const result = await ledger.grant({
      transferId: ids.uuid(),
      accountId,
      amountNano: amountNanoUsd,
      reference: reference ?? null,
      reason,
      at: clock.now(),
    })
    const transfer = transferOf(result, amountNanoUsd)
    this.#deps.balanceFeed.changed(accountId)
    return transfer
  }

  /** Opens the account's DIEM balance for the current day, even without stake. */
  async openDiem(accountId: string): Promise<void> {
    await this.#deps.diemAllowance.stakeChanged(accountId)
  }

  async stakeChanged(accountId: string): Promise<void> {
    await this.#deps.diemAllowance.stakeChanged(accountId)
    this.#deps.balanceFeed.changed(accountId)
  }

  /** Transfers of both currencies, newest first. Fails with `invalid_request` on a cursor of another list or account. */
  async listTransfers(accountId: string, page: PageRequest): Promise<Page<LedgerTransfer>> {
    const scope = { list: 'ledger', accountId }
    const [usd, diem] = page.after ? decodeCursor(scope, LedgerCursor, page.after) : (['', ''] as const)
    const reached: Record<Currency, string> = { usd, diem }
    const transfers = await this.#deps.ledger.listTransfers(accountId, {
      limit: page.first + 1,
      beforeSequences: { usd: toSequence(usd), diem: toSequence(diem) },
    })
    const rows = transfers.toSorted(
      (a, b) => b.createdAt.getTime() - a.createdAt.getTime() || Number(b.sequence - a.sequence),
    )
    return toPage(rows.slice(0, page.first + 1), page.first, {
      scope,
      keyOf: (transfer) => {
        reached[transfer.currency] = transfer.sequence.toString()
        return [reached.usd, reached.diem]
      },
    })
  }

  /** The charges of requests, by request id; a free request has no transfer. */
  async chargesOf(accountId: string, requestIds: readonly string[]): Promise<Map<string, LedgerTransfer>> {
    const charges = await this.#deps.ledger.findCharges(accountId, requestIds.map(toUuid))
    return new Map([...charges.values()].map((transfer) => [transfer.requestId ?? '', transfer]))
  }

  /** The account's balances now and after every change, coalesced; ends when `signal` aborts. */
  async *balanceChanges(accountId: string, signal: AbortSignal): AsyncGenerator<AccountBalances, void> {
    await this.#deps.diemAllowance.ensure(accountId, this.#deps.clock.now())
    yield* this.#deps.balanceFeed.watch(accountId, signal)
  }

  /** Checks the invariants of the money path over the whole database. */
  verify(): Promise<Verification> {
    return this.#deps.verifier.verify()
  }

  /** Like `verify`, for a few seconds, from the start or from the cursor of the previous part. */
  verifyPart(cursor: string | null): Promise<VerifyProgress> {
    return this.#deps.verifier.verifyPart(cursor, VERIFY_PART_MS)
  }
}

function toSequence(text: string): bigint | null {
  return text === '' ? null : BigInt(text)
}

function transferOf(result: GrantResult, amountNanoUsd: bigint): LedgerTransfer {
  switch (result.outcome) {
    case 'account_missing':
      throw new DomainError('not_found', 'No such account')
    case 'insufficient': {
      const [taken, free] = [formatUsd(-amountNanoUsd), formatUsd(result.freeNano)]
      throw new DomainError('conflict', `The correction of ${taken} USD exceeds the free balance of ${free} USD`)
    }
    case 'repeated':
      return assertRepeats(result.transfer, amountNanoUsd)
    case 'posted':
      return result.transfer
  }
}

/** A reference makes repeats harmless, but one reused by mistake must not swallow the second entry. */
function assertRepeats(before: LedgerTransfer, amountNanoUsd: bigint): LedgerTransfer {
  if (before.amountNanoUsd === amountNanoUsd) return before
  const message = `The reference ${before.reference} is already used for a ${before.kind} of ${formatUsd(before.amountNanoUsd)} USD; use another one`
  throw new DomainError('conflict', message, { field: 'reference' })
}
