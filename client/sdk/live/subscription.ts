import { SluiceError } from '../errors.ts'

/** Maximum events that wait for their reader; beyond it, a subscription pauses until they are read. */
const WAITING_MAX = 1_000

export interface SubscriptionPlan<Event> {
  query: string
  /** The variables to subscribe with: null at first, after a gap the last event. */
  toVariables(last: Event | null): Record<string, unknown> | undefined
  /** Extracts the event from a result; throws if the result is an error. */
  toEvent(result: unknown): Event
  /** Only the newest event matters, so older ones need not wait for a slow reader. */
  newestOnly?: true
}

export interface SubscriptionLinks {
  /** There is room for events again. */
  onDrained: () => void
  /** The reader has left. */
  onLeft: () => void
}

/** One subscription as its reader sees it: events in order, across as many connections as it takes. */
export class Subscription<Event> implements AsyncIterableIterator<Event> {
  readonly #plan: SubscriptionPlan<Event>
  readonly #links: SubscriptionLinks
  #waiting: Event[] = []
  #last: Event | null = null
  #paused = false
  #end: { error: SluiceError | null } | null = null
  #readers: (() => void)[] = []

  constructor(plan: SubscriptionPlan<Event>, links: SubscriptionLinks) {
    this.#plan = plan
    this.#links = links
  }

  /** True if no more events may be sent until the reader catches up. */
  get isPaused(): boolean {
    return this.#paused
  }

  /** Payload of the next `subscribe` message. */
  toPayload(): object {
    return { query: this.#plan.query, variables: this.#plan.toVariables(this.#last) }
  }

  push(result: unknown): void {
    if (this.#end !== null) return
    try {
      const event = this.#plan.toEvent(result)
      if (this.#plan.newestOnly === true) this.#waiting = []
      this.#waiting.push(event)
      this.#last = event
      this.#paused = this.#waiting.length >= WAITING_MAX
      this.#wake()
    } catch (error) {
      this.finish(
        error instanceof SluiceError ? error : new SluiceError('A result had an unknown format', { cause: error }),
      )
    }
  }

  /** Ends it after the waiting events; null is a regular end. */
  finish(error: SluiceError | null): void {
    this.#end ??= { error }
    this.#wake()
  }

  async next(): Promise<IteratorResult<Event, undefined>> {
    for (;;) {
      if (this.#waiting.length > 0) return { done: false, value: this.#take() }
      if (this.#end !== null) return this.#finished(this.#end)
      await new Promise<void>((resolve) => {
        this.#readers.push(resolve)
      })
    }
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    this.#waiting = []
    this.finish(null)
    this.#links.onLeft()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #wake(): void {
    for (const wake of this.#readers.splice(0)) wake()
  }

  #take(): Event {
    const [event] = this.#waiting.splice(0, 1) as [Event]
    if (this.#paused && this.#waiting.length === 0) {
      this.#paused = false
      this.#links.onDrained()
    }
    return event
  }

  #finished(end: { error: SluiceError | null }): IteratorResult<Event, undefined> {
    const { error } = end
    // An error is thrown only once.
    end.error = null
    if (error !== null) throw error
    return { done: true, value: undefined }
  }
}
