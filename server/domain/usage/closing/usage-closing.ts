import { type Clock, utcDay } from '../../clock.ts'
import type { IdSource } from '../../ids.ts'
import type { UsageClosingRepository } from './usage-closing-repository.ts'

/** How long after its end a day is closed: by then almost all of its requests are settled. */
const DELAY_MS = 30 * 60_000
const PAGE_ACCOUNTS = 10_000
/** Target duration of one statement, which limits its number of accounts because late settlements wait for it. */
const STATEMENT_MS = 400
const SLICE_ACCOUNTS_MAX = 500
const NIL_ID = '00000000-0000-0000-0000-000000000000'

export interface UsageClosingDeps {
  closings: UsageClosingRepository
  clock: Clock
  ids: IdSource
}

/**
 * Sums up each account's days after they end, so that reports read few rows and settlements write few. Until then, and
 * after a late settlement has reopened a week, reports read the rows of settlements: more rows, the same sums.
 */
export class UsageClosing {
  readonly #deps: UsageClosingDeps
  #sliceAccounts = 100

  constructor(deps: UsageClosingDeps) {
    this.#deps = deps
  }

  /**
   * Closes every past day of every account. Any number of processes share the work: each starts at a different account,
   * and skips accounts that another one has closed or is closing.
   */
  async closeDays(): Promise<void> {
    const { closings, clock } = this.#deps
    const now = await closings.now(clock.now())
    const untilDay = utcDay(new Date(now.getTime() - DELAY_MS))
    let afterId = NIL_ID
    for (;;) {
      const accountIds = await closings.listOpen(untilDay, afterId, PAGE_ACCOUNTS)
      const lastId = accountIds.at(-1)
      if (lastId === undefined) return
      await this.#closeSlices(this.#rotate(accountIds), untilDay)
      // One by one, so that no account waits for another account's settlement.
      const busy = await closings.listOpen(untilDay, afterId, PAGE_ACCOUNTS)
      for (const accountId of busy) if (accountId <= lastId) await this.#closeWeeks([accountId], untilDay, true)
      afterId = lastId
    }
  }

  async #closeSlices(accountIds: readonly string[], untilDay: string): Promise<void> {
    for (let from = 0; from < accountIds.length; ) {
      const slice = accountIds.slice(from, from + this.#sliceAccounts)
      from += slice.length
      await this.#closeWeeks(slice, untilDay, false)
    }
  }

  /** Closes week by week, so that every statement is short. */
  async #closeWeeks(accountIds: readonly string[], untilDay: string, waits: boolean): Promise<void> {
    let open = accountIds
    while (open.length > 0) {
      const begun = await this.#deps.closings.begin(open, untilDay, { waits })
      open = begun.length === 0 ? [] : await this.#finish(begun)
    }
  }

  async #finish(accountIds: readonly string[]): Promise<string[]> {
    const { closings, clock } = this.#deps
    const beganMs = clock.nowMs()
    const closed = await closings.finish(accountIds)
    const tookMs = Math.max(clock.nowMs() - beganMs, 1)
    const fitting = Math.floor((accountIds.length * STATEMENT_MS) / tookMs)
    this.#sliceAccounts = Math.max(1, Math.min(fitting, this.#sliceAccounts * 2, SLICE_ACCOUNTS_MAX))
    return closed
  }

  #rotate(accountIds: readonly string[]): string[] {
    const fraction = Number.parseInt(this.#deps.ids.uuid().slice(-6), 16) / 0x1_00_00_00
    const first = Math.floor(fraction * accountIds.length)
    return [...accountIds.slice(first), ...accountIds.slice(0, first)]
  }
}
