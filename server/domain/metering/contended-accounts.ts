import type { LaneEntry } from './lane-entry.ts'

/**
 * What became of a batch: `locked` if a lock was not had in time, `split` if the database rejected one of several items,
 * still unknown which, `rejected` if it was the only one.
 */
export type ContendedOutcome = 'done' | 'retry' | 'locked' | 'split' | 'rejected'

/** Sends a batch, waiting for the locks of its accounts, and ends the entries that are decided. */
export type SendContended = (batch: readonly LaneEntry[]) => Promise<ContendedOutcome>

interface AccountQueue {
  entries: LaneEntry[]
  /** A batch of it is in flight, or it is in the list of those to be served. */
  active: boolean
  /** Served on its own, because a batch with others failed. */
  alone: boolean
  batchEntriesMax: number
  /** The tick until which it stays out of the main lane, even when it is empty. */
  untilTick: number
}

/** Batches at a time. Each occupies one database connection, so locked accounts can never take all. */
const SENDERS_MAX = 3
const BATCH_ENTRIES_MAX = 512
const GROUP_ACCOUNTS_MAX = 64
/** Long enough that an account used by several processes seldom returns to the main lane just to leave it again. */
const LINGER_TICKS = 2

/**
 * Accounts that left the main lane, because other transactions keep locking their balance or because the database
 * rejected an item of theirs. Each has a queue of its own. Several are sent together, so that accounts that are only
 * busy cost little; one whose lock is not had in time is sent alone from then on and delays only itself. An account
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
    const queue = { entries, active: false, alone: false, batchEntriesMax: BATCH_ENTRIES_MAX, untilTick }
    this.#queues.set(accountId, queue)
    this.#enlist(queue)
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0
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
    while (this.#ready.length > 0) {
      const group = this.#takeGroup()
      await this.#serveOnce(group)
      for (const queue of group) {
        queue.active = false
        if (queue.entries.length > 0) this.#enlist(queue)
      }
    }
    this.#senders--
  }

  #takeGroup(): AccountQueue[] {
    const [first] = this.#ready
    const isTogether = (queue: AccountQueue) => !queue.alone && first?.alone === false
    const group = this.#ready.filter((queue) => queue === first || isTogether(queue)).slice(0, GROUP_ACCOUNTS_MAX)
    const taken = new Set(group)
    this.#ready = this.#ready.filter((queue) => !taken.has(queue))
    return group
  }

  async #serveOnce(group: readonly AccountQueue[]): Promise<void> {
    const batches = group.map((queue) => {
      const taken = queue.entries.splice(0, queue.batchEntriesMax)
      return { queue, batch: taken.filter((entry) => entry.mayBeSent()) }
    })
    const together = batches.flatMap(({ batch }) => batch)
    if (together.length === 0) return
    const outcome = await this.#send(together)
    const isAlone = group.length === 1
    for (const { queue, batch } of batches) {
      if (outcome !== 'done') queue.untilTick = this.#tick + LINGER_TICKS
      queue.alone = outcome === 'locked' || outcome === 'split'
      queue.batchEntriesMax = outcome === 'split' && isAlone ? Math.ceil(batch.length / 2) : BATCH_ENTRIES_MAX
      queue.entries.unshift(...batch.filter((entry) => !entry.ended))
    }
  }
}
