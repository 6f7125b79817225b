export interface ThrottledTaskOptions {
  /** From the begin of one run to the begin of the next, at least. */
  intervalMs: number
  /** How long work that failed waits beyond that before it is tried again. Default: not at all. */
  retryMs?: number
}

/**
 * Work that is asked for often and done seldom: at once after a rest, so that one change is told without delay, and once
 * an interval however often it is asked for meanwhile. It never runs twice at a time.
 */
export class ThrottledTask {
  readonly #work: () => Promise<boolean> | boolean
  readonly #options: ThrottledTaskOptions
  #requested = false
  #busy = false
  #stopped = false
  #timer: NodeJS.Timeout | undefined

  /** `work` answers false when it failed and is to be done again. */
  constructor(work: () => Promise<boolean> | boolean, options: ThrottledTaskOptions) {
    this.#work = work
    this.#options = options
  }

  request(): void {
    this.#requested = true
    if (this.#busy || this.#stopped) return
    this.#busy = true
    // After this turn of the event loop: what is asked for together is done together.
    setImmediate(() => void this.#run())
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #run(): Promise<void> {
    while (this.#requested && !this.#stopped) {
      this.#requested = false
      const rested = this.#rest(this.#options.intervalMs)
      const done = await this.#work()
      await rested
      if (done) continue
      this.#requested = true
      await this.#rest(this.#options.retryMs ?? 0)
    }
    this.#busy = false
  }

  #rest(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#stopped) this.#timer = setTimeout(resolve, milliseconds)
    })
  }
}
