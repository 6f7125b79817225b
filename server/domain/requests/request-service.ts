import { z } from 'zod'
import { addDays, type Clock, DAY_MS, utcDay } from '../clock.ts'
import type { RequestKey } from '../idempotency/idempotency-record.ts'
import type { IdempotencyRepository } from '../idempotency/idempotency-repository.ts'
import { idTimeMs, minUuidAt, toUuid } from '../ids.ts'
import { CursorDay, CursorNumber, decodeCursor, encodeCursor, type Page, type PageRequest } from '../page.ts'
import { invalidField, parseInput } from '../validation/parse-input.ts'
import { isUuid } from '../validation/uuid.ts'
import { ReceiptInput, type RequestFilter } from './inputs.ts'
import type { RequestFeed } from './request-feed.ts'
import type { RequestRecord, SettledRequests } from './request-record.ts'
import type { LogPlace, LogScan, RequestRepository } from './request-repository.ts'

const LOG_DAYS = 90
/** Days scanned for one page: planning takes longer with each of their partitions. */
const PAGE_DAYS_MAX = 14
const PAGE_SCANNED_MAX = 5_000
const NO_ID = '00000000-0000-0000-0000-000000000000'

const PlaceCursor = z.tuple([CursorDay, z.string().refine(isUuid)])
const FeedCursor = z.tuple([CursorNumber, CursorDay])

export interface RequestServiceDeps {
  requests: RequestRepository
  keys: Pick<IdempotencyRepository, 'findByRequests'>
  feed: RequestFeed
  clock: Clock
}

/**
 * An account's finished requests: the log, the receipts, and the feed. Contains every admitted request once it has ended,
 * including those that failed and cost nothing. Amounts are nano-USD; request ids are those of the response header
 * `CF-RAY`.
 */
export class RequestService {
  readonly #deps: RequestServiceDeps

  constructor(deps: RequestServiceDeps) {
    this.#deps = deps
  }

  /**
   * Newest first. A page covers at most 14 days and, with a filter, 5,000 requests; it may have fewer items than
   * requested and still a next page. Fails with `invalid_request` on a cursor of another list or account, and if `to` is
   * not after `from`.
   */
  async list(accountId: string, page: PageRequest, filter: RequestFilter = {}): Promise<Page<RequestRecord>> {
    const scope = { list: 'requests', accountId }
    const [firstDay, lastDay] = this.#days(filter)
    const before = page.after == null ? endOf(filter) : toPlace(decodeCursor(scope, PlaceCursor, page.after))
    const toDay = before !== null && before.day < lastDay ? before.day : lastDay
    const scan = {
      ...toScan(page, filter),
      fromDay: latest(firstDay, addDays(toDay, 1 - PAGE_DAYS_MAX)),
      toDay,
      before,
    }
    const { records, stoppedAt } = await this.#deps.requests.scan(accountId, scan)
    const items = records.slice(0, page.first)
    const cursors = items.map((record) => encodeCursor(scope, [utcDay(record.admittedAt), toUuid(record.requestId)]))
    if (records.length > page.first) return { items, cursors, endCursor: cursors.at(-1) ?? null, hasNextPage: true }
    const rest = stoppedAt ?? (scan.fromDay > firstDay ? { day: scan.fromDay, requestId: NO_ID } : null)
    if (rest === null) return { items, cursors, endCursor: cursors.at(-1) ?? null, hasNextPage: false }
    return { items, cursors, endCursor: encodeCursor(scope, [rest.day, rest.requestId]), hasNextPage: true }
  }

  /**
   * Undefined for an id that no request of the account has, or whose request has not ended. Fails with `invalid_request`
   * on an invalid id.
   */
  async get(accountId: string, requestId: string): Promise<RequestRecord | undefined> {
    const { requestId: id } = parseInput(ReceiptInput, { requestId })
    return (await this.find(accountId, [id])).get(id)
  }

  /** The finished ones of these requests, by request id. */
  async find(accountId: string, requestIds: readonly string[]): Promise<Map<string, RequestRecord>> {
    const places = requestIds.flatMap((requestId) => this.#placesOf(requestId))
    if (places.length === 0) return new Map()
    const records = await this.#deps.requests.find(accountId, places)
    return new Map([...records.values()].map((record) => [record.requestId, record]))
  }

  /** The stored idempotency keys of requests, by request id. */
  async keysOf(accountId: string, requestIds: readonly string[]): Promise<Map<string, RequestKey>> {
    const keys = await this.#deps.keys.findByRequests(accountId, requestIds.map(toUuid))
    return new Map([...keys].map(([requestId, key]) => [requestId.replaceAll('-', ''), key]))
  }

  /**
   * Yields requests as they are settled, or since the cursor `after`, in settlement order. The first item has no requests
   * and marks the start of the feed. At most the 1,000 newest missed requests are replayed; `missed` reports that there
   * were more. Ends when `signal` aborts. Fails with `invalid_request` on a cursor of another list or account.
   */
  async *settled(
    accountId: string,
    after: string | null | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<SettledRequests, void> {
    const scope = { list: 'settled_requests', accountId }
    const [position, day] = after == null ? [] : decodeCursor(scope, FeedCursor, after)
    const reached = position === undefined || day === undefined ? null : { position: BigInt(position), day }
    const shared = this.#written
    for await (const batch of this.#deps.feed.watch(accountId, reached, signal)) {
      const written = shared.get(batch) ?? {
        accountId,
        requests: batch.requests,
        missed: batch.missed,
        cursor: encodeCursor(scope, [batch.position.toString(), utcDay(this.#deps.clock.now())]),
      }
      shared.set(batch, written)
      yield written
    }
  }

  /** One object for all watchers of an account, so that results derived from it can be shared as well. */
  readonly #written = new WeakMap<object, SettledRequests>()

  #days({ from, to }: RequestFilter): [string, string] {
    if (from != null && to != null && to <= from) {
      throw invalidField('to', `is ${to.toISOString()}, but must be after from, which is ${from.toISOString()}`)
    }
    const lastDay = utcDay(to ?? this.#deps.clock.now())
    return [from == null ? addDays(lastDay, 1 - LOG_DAYS) : utcDay(from), lastDay]
  }

  /** The possible admission days of a request id, which is created just before admission. */
  #placesOf(requestId: string): LogPlace[] {
    const timeMs = idTimeMs(requestId)
    if (timeMs === undefined || timeMs > this.#deps.clock.nowMs() + DAY_MS) return []
    const day = utcDay(new Date(timeMs))
    return [day, addDays(day, 1)].map((candidate) => ({ day: candidate, requestId: toUuid(requestId) }))
  }
}

function toScan({ first }: PageRequest, filter: RequestFilter): Pick<LogScan, 'filter' | 'limit' | 'scannedMax'> {
  const all = Object.values(filter).every((condition) => condition == null)
  return { filter, limit: first + 1, scannedMax: all ? first + 1 : PAGE_SCANNED_MAX }
}

/** Requests admitted before `to` have no id created after it. */
function endOf({ to }: RequestFilter): LogPlace | null {
  return to == null ? null : { day: utcDay(to), requestId: toUuid(minUuidAt(to.getTime())) }
}

function toPlace([day, requestId]: readonly [string, string]): LogPlace {
  return { day, requestId }
}

function latest(a: string, b: string): string {
  return a > b ? a : b
}
