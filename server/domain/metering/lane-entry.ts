import type { MoneyItem, MoneyResult } from './money-item.ts'

export type LaneRejectionReason = 'full' | 'late' | 'client_left'

/** An item that the lane gave up; if it was sent, the database may have done it all the same. */
export class LaneRejection extends Error {
  readonly reason: LaneRejectionReason

  constructor(reason: LaneRejectionReason) {
    super(`the money lane gave an item up: ${reason}`)
    this.reason = reason
  }
}

export interface LaneEntryOptions {
  item: MoneyItem
  /** The tick of the lane at which it is given up. */
  lastTick: number
  /** Aborts when the client leaves; the item is then not sent any more. */
  signal: AbortSignal | undefined
  ended: () => void
}

/** One item on its way through the lane; it ends once, and later ends are ignored. */
export class LaneEntry {
  readonly item: MoneyItem
  readonly lastTick: number
  readonly result: Promise<MoneyResult>
  /** How often its account was locked by another transaction when it was sent. */
  busyCount = 0
  readonly #signal: AbortSignal | undefined
  readonly #resolvers = Promise.withResolvers<MoneyResult>()
  readonly #notifyEnded: () => void
  /** It was sent and the response was lost, so the database may have done it. */
  #uncertain = false
  #ended = false

  constructor({ item, lastTick, signal, ended }: LaneEntryOptions) {
    this.item = item
    this.lastTick = lastTick
    this.result = this.#resolvers.promise
    this.#signal = signal
    this.#notifyEnded = ended
  }

  get accountId(): string {
    return this.item.item.accountId
  }

  get ended(): boolean {
    return this.#ended
  }

  /** False when nobody waits for it any more. */
  mayBeSent(): boolean {
    if (this.#signal?.aborted === true && !this.#uncertain) this.giveUp('client_left')
    return !this.#ended
  }

  /** The response was lost. */
  returnUncertain(): void {
    this.#uncertain = true
  }

  resolve(result: MoneyResult): void {
    if (this.#end()) this.#resolvers.resolve(result)
  }

  reject(error: unknown): void {
    if (this.#end()) this.#resolvers.reject(error)
  }

  giveUp(reason: LaneRejectionReason): void {
    this.reject(new LaneRejection(reason))
  }

  #end(): boolean {
    if (this.#ended) return false
    this.#ended = true
    this.#notifyEnded()
    return true
  }
}
