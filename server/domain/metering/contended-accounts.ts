import type { LaneEntry } from './lane-entry.ts'

/** What became of a batch of one account; after `split` the database rejected one of its items, still unknown which. */
export type ContendedOutcome = 'done' | 'retry' | 'split' | 'rejected'

/** Sends a batch of one account, waiting for its lock, and ends the entries that are decided. */
export type SendContended = (batch: readonly LaneEntry[]) => Promise<ContendedOutcome>

interface AccountQueue {
  entries: LaneEntry[]
  /** A batch of it is in flight, or it is in the list of those to be served. */
  active: boolean
  batchEntriesMax: number
  /** The tick until which it stays out of the main lane, even when it is empty. */
  untilTick: number
}

/** Accounts served at a time. Each occupies one database connection, so locked accounts can never take all. */
const SENDERS_MAX = 3
const BATCH_ENTRIES_MAX = 512
/** Long enough that an account used by several processes seldom returns to the main lane just to leave it again. */
const LINGER_TICKS = 8

/**
 * Accounts that left the main lane, because other transactions keep locking their balance or because the database
 * rejected an item of theirs. Each has a queue of its own, served in turn, so that it delays only itself. An account
 * returns to the main lane when its queue is empty.
 */
export class ContendedAccounts {
  readonly #send: SendContended
  readonly #queues = new Map<string, AccountQueue>()
  #ready: AccountQueue[] = []
  #senders = 0
  #tick = 0

  constructor(send: SendContended) {
    this.#send = send
  }

  /** False when the account belongs to the main lane. */
  accept(entry: LaneEntry): boolean {
    const queue = this.#queues.get(entry.accountId)
    if (queue === undefined) return false
    queue.entries.push(entry)
    this.#enlist(queue)
    return true
  }

  /** Takes an account out of the main lane, with all its entries there in their order. */
  add(accountId: string, entries: LaneEntry[]): void {
    const untilTick = this.#tick + LINGER_TICKS
    const queue = { entries, active: false, batchEntriesMax: BATCH_ENTRIES_MAX, untilTick }
    this.#queues.set(accountId, queue)
    this.#enlist(queue)
  }

  /** Returns accounts to the main lane. */
  onTick(tick: number): void {
    this.#tick = tick
    for (const [accountId, queue] of this.#queues) {
      if (queue.entries.length === 0 && !queue.active && queue.untilTick <= tick) this.#queues.delete(accountId)
    }
  }

  #enlist(queue: AccountQueue): void {
    if (queue.active) return
    queue.active = true
    this.#ready.push(queue)
    // After the poll phase: requests that were read in one turn of the event loop leave in one batch.
    if (this.#senders < SENDERS_MAX) {
      this.#senders++
      setImmediate(() => void this.#serve())
    }
  }

  async #serve(): Promise<void> {
    for (let queue = this.#ready.shift(); queue !== undefined; queue = this.#ready.shift()) {
      await this.#serveOnce(queue)
      queue.active = false
      if (queue.entries.length > 0) this.#enlist(queue)
    }
    this.#senders--
  }

  async #serveOnce(queue: AccountQueue): Promise<void> {
    const taken = queue.entries.splice(0, queue.batchEntriesMax)
    const batch = taken.filter((entry) => entry.takeForSending())
    if (batch.length === 0) return
    const outcome = await this.#send(batch)
    if (outcome !== 'done') queue.untilTick = this.#tick + LINGER_TICKS
    queue.batchEntriesMax = outcome === 'split' ? Math.ceil(batch.length / 2) : BATCH_ENTRIES_MAX
    queue.entries.unshift(...batch.filter((entry) => !entry.ended))
  }
}
