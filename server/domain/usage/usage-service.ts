import type { Clock } from '../clock.ts'
import { USAGE_DIMENSIONS, type UsageReport } from './usage.ts'
import type { UsageQuery } from './inputs.ts'
import { toUsageRange } from './usage-range.ts'
import type { UsageRepository } from './usage-repository.ts'

/** Where a report splits finely, the rest is in its totals; a narrower question shows it. */
const USAGE_ROWS_MAX = 1_000

export interface UsageServiceDeps {
  usage: UsageRepository
  clock: Clock
}

/** What an account used and paid, from roll-ups that are written with each settlement: their sums equal the ledger. */
export class UsageService {
  readonly #deps: UsageServiceDeps

  constructor(deps: UsageServiceDeps) {
    this.#deps = deps
  }

  /**
   * Usage of at most 90 UTC days, split by the dimensions asked for: at most 1,000 rows, the costliest first. Amounts
   * are nano-USD. Fails with `invalid_request` that names `from` or `to` when the range is half, reversed, too long or
   * begins in the future.
   */
  async report(accountId: string, query: UsageQuery): Promise<UsageReport> {
    const range = toUsageRange(query, this.#deps.clock)
    const dimensions = USAGE_DIMENSIONS.filter((dimension) => query.groupBy.includes(dimension))
    const found = await this.#deps.usage.report(accountId, {
      ...range,
      dimensions,
      filter: query.filter ?? {},
      rowsMax: USAGE_ROWS_MAX,
    })
    return { ...range, ...found }
  }
}
