import { z } from 'zod'
import { type Clock, nextUtcMidnight } from '../clock.ts'
import { DomainError } from '../errors.ts'
import { toUuid, type IdSource } from '../ids.ts'
import { type Currency, formatUsd } from '../money.ts'
import { CursorNumber, decodeCursor, type Page, type PageRequest, toPage } from '../page.ts'
import type { BalanceFeed } from './balance-feed.ts'
import type { DiemAllowance } from './diem-allowance.ts'
import type { AccountBalances, Balance, LedgerTransfer } from './ledger.ts'
import type { GrantResult, LedgerRepository } from './ledger-repository.ts'
import type { Verification } from '../verify/verification.ts'
import type { Verifier, VerifyProgress } from '../verify/verifier.ts'

/** Of each currency the posting that was given last; empty where none was yet. */
const Position = CursorNumber.or(z.literal(''))
const LedgerCursor = z.tuple([Position, Position])

/** Well within the timeouts of clients and proxies. */
const VERIFY_PART_MS = 2_000

export interface GrantInput {
  accountId: string
  amountNanoUsd: bigint
  reason: string
  /** A repeat with the same reference posts nothing and answers with the first transfer. */
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

  /** The account's DIEM of the current UTC day as it was granted, whatever is left of it, and when the next day begins. */
  async diemEpoch(accountId: string): Promise<{ allocationNano: bigint; endsAt: Date }> {
    const { diemAllowance, clock } = this.#deps
    await diemAllowance.ensure(accountId, clock.now())
    return { allocationNano: await diemAllowance.grantedToday(accountId), endsAt: nextUtcMidnight(diemAllowance.now()) }
  }

  /**
   * Adds (or, negative, takes) USD by an operator's word. Fails with `not_found` for an unknown account and `conflict`
   * when less than the amount is free, or when the reference stands for another posting.
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

  /** Gives the account a DIEM balance of the current day, though it may have no stake. */
  async openDiem(accountId: string): Promise<void> {
    await this.#deps.diemAllowance.stakeChanged(accountId)
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

  /** What requests were charged, by request id; a request that cost nothing has no transfer. */
  async chargesOf(accountId: string, requestIds: readonly string[]): Promise<Map<string, LedgerTransfer>> {
    const charges = await this.#deps.ledger.findCharges(accountId, requestIds.map(toUuid))
    return new Map([...charges.values()].map((transfer) => [transfer.requestId ?? '', transfer]))
  }

  /** The account's balances now and after every change, coalesced; ends when `signal` aborts. */
  async *balanceChanges(accountId: string, signal: AbortSignal): AsyncGenerator<AccountBalances, void> {
    await this.#deps.diemAllowance.ensure(accountId, this.#deps.clock.now())
    yield* this.#deps.balanceFeed.watch(accountId, signal)
  }

  /** Proves the invariants of the money path over the whole database. */
  verify(): Promise<Verification> {
    return this.#deps.verifier.verify()
  }

  /** The same for a few seconds, from the start or from the cursor that the last part returned. */
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

/** A reference is there to make repeats harmless; one that is used twice by mistake must not swallow the second posting. */
function assertRepeats(before: LedgerTransfer, amountNanoUsd: bigint): LedgerTransfer {
  if (before.amountNanoUsd === amountNanoUsd) return before
  const message = `The reference ${before.reference} is already used for a ${before.kind} of ${formatUsd(before.amountNanoUsd)} USD; use another one`
  throw new DomainError('conflict', message, { field: 'reference' })
}
