export interface ThrottledTaskOptions {
  /** Minimum time between the starts of two runs. */
  intervalMs: number
  /** Additional wait before failed work is retried. Default: none. */
  retryMs?: number
}

/**
 * Work that is requested often but runs rarely: immediately after a pause, so that a single change is not delayed, and
 * once per interval however often it is requested. Runs never overlap.
 */
export class ThrottledTask {
  readonly #work: () => Promise<boolean> | boolean
  readonly #options: ThrottledTaskOptions
  #requested = false
  #busy = false
  #stopped = false
  #timer: NodeJS.Timeout | undefined

  /** `work` returns false if it failed and must run again. */
  constructor(work: () => Promise<boolean> | boolean, options: ThrottledTaskOptions) {
    this.#work = work
    this.#options = options
  }

  request(): void {
    this.#requested = true
    if (this.#busy || this.#stopped) return
    this.#busy = true
    // Runs after this turn of the event loop, so that simultaneous requests share a run.
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
