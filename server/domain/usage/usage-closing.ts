import { type Clock, utcDay } from '../clock.ts'
import type { UsageClosingRepository } from './usage-closing-repository.ts'

/** A day is closed so long after its end: by then next to all requests that were admitted in it are settled. */
const DELAY_MS = 30 * 60_000
const ACCOUNTS_AT_ONCE = 500
const NIL_ID = '00000000-0000-0000-0000-000000000000'

export interface UsageClosingDependencies {
  closings: UsageClosingRepository
  clock: Clock
}

/**
 * Sums up each account's days once they are over, so that reports read few rows and settlements write few. Until then,
 * and after a late settlement has opened a week again, reports read what settlements write: more rows, the same sums.
 */
export class UsageClosing {
  readonly #deps: UsageClosingDependencies

  constructor(deps: UsageClosingDependencies) {
    this.#deps = deps
  }

  /** Closes every day of every account that is over; any number of processes may do so at once. */
  async closeDays(): Promise<void> {
    const { closings, clock } = this.#deps
    const untilDay = utcDay(new Date(clock.nowMs() - DELAY_MS))
    let afterId = NIL_ID
    for (;;) {
      const accountIds = await closings.listOpen(untilDay, afterId, ACCOUNTS_AT_ONCE)
      for (const accountId of accountIds) await this.#close(accountId, untilDay)
      const lastId = accountIds.at(-1)
      if (lastId === undefined) return
      afterId = lastId
    }
  }

  /** Week by week, so that no transaction is long. */
  async #close(accountId: string, untilDay: string): Promise<void> {
    const { closings } = this.#deps
    while ((await closings.begin(accountId, untilDay)) && (await closings.finish(accountId)));
  }
}
