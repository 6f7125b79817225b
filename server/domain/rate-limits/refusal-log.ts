import { z } from 'zod'
import { type Clock, DAY_MS } from '../clock.ts'
import type { IdSource } from '../ids.ts'
import type { Log } from '../log.ts'
import { CursorInstant, decodeCursor, type Page, type PageRequest, toPage } from '../page.ts'
import { isUuid } from '../validation/uuid.ts'
import type { Refusal, RefusalRecorder, RefusedRequest } from './refusal.ts'
import type { RefusalEvent, RefusalFeed } from './refusal-feed.ts'
import type { RefusalRepository } from './refusal-repository.ts'

const FLUSH_AFTER_MS = 1_000
const SHOWN_MAX = 50
/** Entries kept for one account after a flood, whatever its rate. */
const KEPT_PER_ACCOUNT_MAX = 1_000
const KEPT_DAYS = 30
const WAITING_MAX = 20_000
const INSERT_ROWS_MAX = 1_000

const Cursor = z.tuple([CursorInstant.transform((text) => new Date(text)), z.uuid()])

export interface RefusalLogDeps {
  repository: Pick<RefusalRepository, 'insert' | 'list' | 'prune' | 'deleteBefore'>
  feed: Pick<RefusalFeed, 'add' | 'watch'>
  clock: Clock
  ids: IdSource
  log: Log
}

/**
 * The log of rejected requests, written in the background in batches: per account at most its 50 newest per second, in
 * total at most 20,000, so that a flood neither slows requests nor fills the database; the rest is dropped. While the
 * database is down, rejections wait within these limits.
 */
export class RefusalLog implements RefusalRecorder {
  readonly #deps: RefusalLogDeps
  /** By account, oldest first. */
  #waiting = new Map<string, Refusal[]>()
  #waitingCount = 0
  #dropped = 0
  readonly #writtenAccounts = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined

  constructor(deps: RefusalLogDeps) {
    this.#deps = deps
  }

  record(refused: RefusedRequest): void {
    const refusal = { ...refused, id: this.#deps.ids.uuid(), at: this.#deps.clock.now() }
    this.#deps.feed.add(refusal)
    this.#keep(refusal)
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_AFTER_MS).unref()
  }

  /** Writes the waiting entries; a failure is logged and retried with the next flush. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#flushing
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined
    })
    await this.#flushing
  }

  /** The account's 50 newest entries, newest first; complete for this process, up to a second old for others. */
  async latest(accountId: string): Promise<Refusal[]> {
    await this.flush()
    return this.#deps.repository.list(accountId, { limit: SHOWN_MAX, before: null })
  }

  /**
   * One page, newest first, of one account or, for operators, of all. Fails with `invalid_request` on a cursor of another
   * list.
   */
  async listPage(accountId: string | null, { first, after }: PageRequest): Promise<Page<Refusal>> {
    const scope = { list: 'rate_limit_refusals', accountId: accountId ?? 'platform' }
    const [at, id] = after == null ? [] : decodeCursor(scope, Cursor, after)
    await this.flush()
    const before = at === undefined || id === undefined ? null : { at, id }
    const known = accountId === null || isUuid(accountId)
    const rows = known ? await this.#deps.repository.list(accountId, { limit: first + 1, before }) : []
    return toPage(rows, first, { scope, keyOf: (refusal) => [refusal.at.toISOString(), refusal.id] })
  }

  /**
   * Yields the account's rejections in any process as they happen, equal ones in quick succession as one; ends with
   * `signal`.
   */
  watch(accountId: string, signal: AbortSignal): AsyncGenerator<RefusalEvent, void> {
    return this.#deps.feed.watch(accountId, signal)
  }

  /** Deletes entries older than 30 days, and all but the newest 1,000 of accounts that this process wrote to. */
  async maintain(): Promise<void> {
    const { repository, clock } = this.#deps
    const accountIds = [...this.#writtenAccounts]
    this.#writtenAccounts.clear()
    if (accountIds.length > 0) await repository.prune(accountIds, KEPT_PER_ACCOUNT_MAX)
    await repository.deleteBefore(new Date(clock.nowMs() - KEPT_DAYS * DAY_MS))
  }

  close(): Promise<void> {
    return this.flush()
  }

  /**
   * The 51st entry of an account in one flush evicts its oldest, which can no longer be among the 50 newest. At the total
   * limit, each account keeps its current number of entries, always the newest.
   */
  #keep(refusal: Refusal): void {
    const ofAccount = this.#waiting.get(refusal.accountId) ?? []
    const isFull = this.#waitingCount >= WAITING_MAX
    if (isFull && ofAccount.length < SHOWN_MAX) this.#dropped += 1
    if (isFull && ofAccount.length === 0) return
    if (isFull || ofAccount.length >= SHOWN_MAX) ofAccount.shift()
    else this.#waitingCount += 1
    ofAccount.push(refusal)
    this.#waiting.set(refusal.accountId, ofAccount)
  }

  async #write(): Promise<void> {
    const refusals = [...this.#waiting.values()].flat()
    if (refusals.length === 0) return
    this.#waiting = new Map()
    this.#waitingCount = 0
    for (let start = 0; start < refusals.length; start += INSERT_ROWS_MAX) {
      const batch = refusals.slice(start, start + INSERT_ROWS_MAX)
      try {
        await this.#deps.repository.insert(batch)
        for (const { accountId } of batch) this.#writtenAccounts.add(accountId)
      } catch (error) {
        this.#takeBack(refusals.slice(start))
        this.#deps.log.warn('rejected requests could not be logged; they are retried', { error })
        break
      }
    }
    if (this.#dropped > 0) this.#deps.log.warn('the log of rejected requests was full', { dropped: this.#dropped })
    this.#dropped = 0
  }

  /** Puts unwritten entries before those added meanwhile, which are newer. */
  #takeBack(unwritten: readonly Refusal[]): void {
    const newer = [...this.#waiting.values()].flat()
    this.#waiting = new Map()
    this.#waitingCount = 0
    for (const refusal of [...unwritten, ...newer]) this.#keep(refusal)
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_AFTER_MS).unref()
  }
}
