import { z } from 'zod'
import { DAY_MS, utcDay } from '../../clock.ts'
import { toUuid } from '../../ids.ts'
import type { LedgerTransfer } from '../../ledger/ledger.ts'
import type { Currency } from '../../money.ts'
import { CursorInstant, CursorNumber, type CursorScope, decodeCursor, encodeCursor } from '../../page.ts'
import type { RequestRecord } from '../../requests/request-record.ts'
import type { RequestRepository } from '../../requests/request-repository.ts'
import type { UsageHistoryFilter, UsageHistoryQuery } from './inputs.ts'
import { toHistoryEntries, type UsageHistoryEntry, type UsageHistoryPage } from './usage-history.ts'
import type { UsageHistoryRepository } from './usage-history-repository.ts'

const CURRENCIES: readonly Currency[] = ['usd', 'diem']
const NO_SEQUENCE = 9_223_372_036_854_775_807n
/** Maximum by which charge times of one account can go back: processes have their own clocks, and retry. */
const TIME_SKEW_MS = 300_000
/** A charge is posted at most this many days after admission; its request is stored under the admission day. */
const SETTLEMENT_DAYS_MAX = 2

const optional = <Part extends z.ZodType>(part: Part) => z.union([z.literal('').transform(() => undefined), part])
const Instant = CursorInstant.transform((text) => new Date(text))

/** The position of the next page, and the filter of the listing. */
const HistoryCursor = z.tuple([
  CursorNumber,
  CursorNumber,
  CursorNumber,
  optional(z.enum(['usd', 'diem'])),
  optional(z.enum(['usd', 'diem'])),
  optional(Instant),
  optional(Instant),
  z.coerce.number().int().min(10).max(1_000),
])

/** The last charge shown, and how many entries of the next charge of `currency`. */
interface Position {
  after: Record<Currency, bigint>
  shown: { currency: Currency; entries: number } | null
}

export interface UsageHistoryServiceDeps {
  history: UsageHistoryRepository
  requests: RequestRepository
}

/** Every charge of an account, line by line, oldest first (`GET /billing/usage-history`). */
export class UsageHistoryService {
  readonly #deps: UsageHistoryServiceDeps

  constructor(deps: UsageHistoryServiceDeps) {
    this.#deps = deps
  }

  /**
   * One page of at most `pageSize` entries. Charges posted meanwhile come after those of earlier pages, so paging never
   * skips or repeats a row. Fails with `invalid_request` on a cursor of another list or account.
   */
  async page(accountId: string, { cursor, ...query }: UsageHistoryQuery): Promise<UsageHistoryPage> {
    const scope = { list: 'usage_history', accountId, field: 'cursor' }
    const { filter, position } =
      cursor === undefined
        ? { filter: query, position: await this.#start(accountId, query) }
        : fromCursor(scope, cursor)
    const charges = await this.#charges(accountId, { filter, position })
    const requests = await this.#requestsOf(accountId, charges)
    const entries: UsageHistoryEntry[] = []
    const reached: Position = { after: { ...position.after }, shown: position.shown }
    for (const charge of charges) {
      const ofCharge = toHistoryEntries(charge, requests.get(charge.requestId ?? ''))
      const skipped = reached.shown?.currency === charge.currency ? reached.shown.entries : 0
      const room = filter.pageSize - entries.length
      if (room === 0) return { entries, nextCursor: toCursor(scope, { filter, position: reached }) }
      entries.push(...ofCharge.slice(skipped, skipped + room))
      if (skipped + room < ofCharge.length) {
        reached.shown = { currency: charge.currency, entries: skipped + room }
        return { entries, nextCursor: toCursor(scope, { filter, position: reached }) }
      }
      reached.shown = null
      reached.after[charge.currency] = charge.sequence
    }
    return { entries, nextCursor: null }
  }

  async #start(accountId: string, { startTimestamp }: UsageHistoryFilter): Promise<Position> {
    if (startTimestamp === undefined) return { after: { usd: 0n, diem: 0n }, shown: null }
    const earliest = new Date(startTimestamp.getTime() - TIME_SKEW_MS)
    const [usd = 1n, diem = 1n] = await Promise.all(
      CURRENCIES.map((currency) => this.#deps.history.firstSequenceAt(accountId, currency, earliest)),
    )
    return { after: { usd: usd - 1n, diem: diem - 1n }, shown: null }
  }

  /** The next charges of both currencies, merged by time; one more than fits the page. */
  async #charges(accountId: string, { filter, position }: Walk): Promise<LedgerTransfer[]> {
    const currencies: readonly Currency[] = filter.currency === undefined ? CURRENCIES : [filter.currency]
    const chains = await Promise.all(
      currencies.map(async (currency) =>
        this.#deps.history.listCharges(accountId, {
          currency,
          afterSequence: position.after[currency],
          beforeSequence: await this.#end(accountId, currency, filter),
          from: filter.startTimestamp ?? null,
          to: filter.endTimestamp ?? null,
          limit: filter.pageSize + 1,
        }),
      ),
    )
    return mergeByTime(chains, position.shown?.currency ?? null).slice(0, filter.pageSize + 1)
  }

  async #end(accountId: string, currency: Currency, { endTimestamp }: UsageHistoryFilter): Promise<bigint> {
    if (endTimestamp === undefined) return NO_SEQUENCE
    const latest = new Date(endTimestamp.getTime() + TIME_SKEW_MS)
    return this.#deps.history.firstSequenceAt(accountId, currency, latest)
  }

  async #requestsOf(accountId: string, charges: readonly LedgerTransfer[]): Promise<Map<string, RequestRecord>> {
    const places = charges.flatMap(({ requestId, createdAt }) => {
      if (requestId === null) return []
      return Array.from({ length: SETTLEMENT_DAYS_MAX + 1 }, (_, days) => ({
        day: utcDay(new Date(createdAt.getTime() - days * DAY_MS)),
        requestId: toUuid(requestId),
      }))
    })
    if (places.length === 0) return new Map()
    const found = await this.#deps.requests.find(accountId, places)
    return new Map([...found.values()].map((request) => [request.requestId, request]))
  }
}

interface Walk {
  filter: UsageHistoryFilter
  position: Position
}

/** Keeps the order within each currency and takes the earlier head first; a partly shown charge precedes all others. */
function mergeByTime(chains: LedgerTransfer[][], begun: Currency | null): LedgerTransfer[] {
  const [first = [], second = []] = chains
  const merged: LedgerTransfer[] = []
  const places = [0, 0]
  const take = (chain: number, transfer: LedgerTransfer): void => {
    merged.push(transfer)
    places[chain] = (places[chain] ?? 0) + 1
  }
  for (;;) {
    const [a, b] = [first[places[0] ?? 0], second[places[1] ?? 0]]
    if (a === undefined && b === undefined) return merged
    const beginsWithSecond = merged.length === 0 && begun !== null && b?.currency === begun
    const beginsWithFirst = merged.length === 0 && begun !== null && a?.currency === begun
    if (b === undefined || (a !== undefined && !beginsWithSecond && (beginsWithFirst || a.createdAt <= b.createdAt))) {
      if (a !== undefined) take(0, a)
    } else take(1, b)
  }
}

function toCursor(scope: CursorScope, { filter, position }: Walk): string {
  return encodeCursor(scope, [
    position.after.usd.toString(),
    position.after.diem.toString(),
    (position.shown?.entries ?? 0).toString(),
    position.shown?.currency ?? '',
    filter.currency ?? '',
    filter.startTimestamp?.toISOString() ?? '',
    filter.endTimestamp?.toISOString() ?? '',
    filter.pageSize.toString(),
  ])
}

function fromCursor(scope: CursorScope, cursor: string): Walk {
  const [usd, diem, entries, shownCurrency, currency, startTimestamp, endTimestamp, pageSize] = decodeCursor(
    scope,
    HistoryCursor,
    cursor,
  )
  return {
    filter: { currency, startTimestamp, endTimestamp, pageSize },
    position: {
      after: { usd: BigInt(usd), diem: BigInt(diem) },
      shown: shownCurrency === undefined ? null : { currency: shownCurrency, entries: Number(entries) },
    },
  }
}
