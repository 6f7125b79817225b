import { setImmediate } from 'node:timers/promises'
import { addDays, type Clock, utcDay } from '../clock.ts'
import type { AccountChanges } from '../ledger/account-changes.ts'
import type { Log } from '../log.ts'
import { ThrottledTask } from '../throttled-task.ts'
import { FeedWatcher } from './feed-watcher.ts'
import type { RecordedRequest, SettledBatch } from './request-record.ts'
import type { FeedPosition, RequestRepository } from './request-repository.ts'

/** A watcher sees a commit within this interval, the interval of the changes and one read. */
const PACE = { intervalMs: 50, retryMs: 1_000 }
/** Accounts served before the next watchers are woken; otherwise in a burst all would wait for the last one. */
const ACCOUNTS_PER_TURN = 10
/** Maximum per account and read; the rest follows immediately. */
const READ_REQUESTS_MAX = 500
const BATCH_REQUESTS_MAX = 100
/** A watcher that missed more gets the newest ones, and a notice. */
const REPLAYED_REQUESTS_MAX = 1_000
/** A replay goes back at most this far. */
const REPLAYED_DAYS_MAX = 7
/** Maximum days that a request may run: one settled now was admitted no earlier. */
const RUNNING_DAYS_MAX = 2

interface Channel {
  /** Undefined until the first read. */
  position: bigint | undefined
  ready: Promise<void>
  watchers: Set<FeedWatcher>
}

export interface RequestFeedDeps {
  changes: AccountChanges
  requests: Pick<RequestRepository, 'lastPosition' | 'positionFromEnd' | 'listSettled'>
  clock: Clock
  log: Log
}

export interface ReachedPosition {
  position: bigint
  day: string
}

/**
 * Sends an account's settled requests to watchers across processes, each once and in settlement order. It listens to the
 * existing messages about account changes, and reads once per interval for all watched accounts; without watchers,
 * nothing is read. Watchers of one account share the same batches.
 */
export class RequestFeed {
  readonly #deps: RequestFeedDeps
  readonly #channels = new Map<string, Channel>()
  readonly #stale = new Set<string>()
  readonly #reading = new ThrottledTask(() => this.#deliver(), PACE)

  constructor(deps: RequestFeedDeps) {
    this.#deps = deps
    deps.changes.listen((accountIds) => {
      for (const accountId of accountIds ?? this.#channels.keys()) this.#markStale(accountId)
    })
  }

  /**
   * Yields first a batch without requests whose position starts the feed: now, or after `after`. Then it yields every
   * settled request, those since `after` first. A watcher that reads too slowly is notified of the gap. Ends when
   * `signal` aborts.
   */
  async *watch(
    accountId: string,
    after: ReachedPosition | null,
    signal: AbortSignal,
  ): AsyncGenerator<SettledBatch, void> {
    const channel = this.#join(accountId)
    const watcher = new FeedWatcher(signal)
    // Listens before reading, so that nothing is lost between the replay and the feed.
    channel.watchers.add(watcher)
    try {
      await channel.ready
      let position = after?.position ?? channel.position ?? 0n
      let fromDay = this.#firstDay(after?.day)
      if (after === null) yield { requests: [], position, missed: false }
      else watcher.lose()
      while (!signal.aborted) {
        if (watcher.lost) {
          watcher.catchUp()
          for await (const batch of this.#replay(accountId, { position, fromDay })) {
            position = batch.position
            yield batch
          }
        }
        const batch = await watcher.next(position)
        if (batch === undefined) continue
        position = batch.position
        fromDay = this.#firstDay(undefined)
        yield batch
      }
    } finally {
      watcher.end()
      this.#leave(accountId, channel, watcher)
    }
  }

  stop(): void {
    this.#reading.stop()
  }

  async *#replay(accountId: string, after: FeedPosition): AsyncGenerator<SettledBatch, void> {
    const { requests } = this.#deps
    const oldestDay = this.#daysAgo(REPLAYED_DAYS_MAX)
    const fromDay = after.fromDay < oldestDay ? oldestDay : after.fromDay
    const skipped = await requests.positionFromEnd(accountId, { ...after, fromDay }, REPLAYED_REQUESTS_MAX + 1)
    let position = skipped ?? after.position
    yield { requests: [], position, missed: skipped !== undefined || fromDay !== after.fromDay }
    for (;;) {
      const found = await requests.listSettled(new Map([[accountId, { position, fromDay }]]), BATCH_REQUESTS_MAX)
      const [batch] = toBatches(found)
      if (batch === undefined) return
      position = batch.position
      yield batch
    }
  }

  /** False if the database failed; the due accounts then stay due. */
  async #deliver(): Promise<boolean> {
    const fromDay = this.#daysAgo(RUNNING_DAYS_MAX)
    const due = new Map<string, FeedPosition>()
    for (const accountId of this.#stale) {
      const channel = this.#channels.get(accountId)
      // A channel without a position stays stale: the change may be after the position that it reads.
      if (channel !== undefined && channel.position === undefined) continue
      this.#stale.delete(accountId)
      if (channel?.position !== undefined) due.set(accountId, { position: channel.position, fromDay })
    }
    if (this.#stale.size > 0) this.#reading.request()
    if (due.size === 0) return true
    try {
      const settled = await this.#deps.requests.listSettled(due, READ_REQUESTS_MAX)
      let told = 0
      for (const [accountId, requests] of Map.groupBy(settled, (request) => request.accountId)) {
        this.#deliverTo(accountId, requests)
        if (requests.length === READ_REQUESTS_MAX) this.#markStale(accountId)
        if (++told % ACCOUNTS_PER_TURN === 0) await setImmediate()
      }
      return true
    } catch (error) {
      for (const accountId of due.keys()) this.#markStale(accountId)
      this.#deps.log.warn('settled requests could not be read for their subscribers; this is retried', { error })
      return false
    }
  }

  #markStale(accountId: string): void {
    if (!this.#channels.has(accountId)) return
    this.#stale.add(accountId)
    this.#reading.request()
  }

  #deliverTo(accountId: string, requests: readonly RecordedRequest[]): void {
    const channel = this.#channels.get(accountId)
    if (channel === undefined) return
    for (const batch of toBatches(requests)) {
      channel.position = batch.position
      for (const watcher of channel.watchers) watcher.push(batch)
    }
  }

  #join(accountId: string): Channel {
    const known = this.#channels.get(accountId)
    if (known !== undefined) return known
    const channel: Channel = { position: undefined, ready: Promise.resolve(), watchers: new Set() }
    channel.ready = this.#readPosition(accountId, channel)
    this.#channels.set(accountId, channel)
    return channel
  }

  async #readPosition(accountId: string, channel: Channel): Promise<void> {
    channel.position = await this.#deps.requests.lastPosition(accountId, this.#daysAgo(RUNNING_DAYS_MAX))
  }

  #leave(accountId: string, channel: Channel, watcher: FeedWatcher): void {
    channel.watchers.delete(watcher)
    if (channel.watchers.size > 0 || this.#channels.get(accountId) !== channel) return
    this.#channels.delete(accountId)
    this.#stale.delete(accountId)
  }

  #firstDay(day: string | undefined): string {
    if (day === undefined) return this.#daysAgo(RUNNING_DAYS_MAX)
    return addDays(day, -RUNNING_DAYS_MAX)
  }

  #daysAgo(days: number): string {
    return addDays(utcDay(this.#deps.clock.now()), -days)
  }
}

function toBatches(requests: readonly RecordedRequest[]): SettledBatch[] {
  const batches: SettledBatch[] = []
  for (let start = 0; start < requests.length; start += BATCH_REQUESTS_MAX) {
    const part = requests.slice(start, start + BATCH_REQUESTS_MAX)
    batches.push({ requests: part, position: part.at(-1)?.position ?? 0n, missed: false })
  }
  return batches
}
