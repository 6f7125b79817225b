import { addDays, type Clock, utcDay } from '../../clock.ts'
import { invalidField } from '../../validation/parse-input.ts'
import { isTimeUnit, type UsageQuery } from './inputs.ts'
import { USAGE_DIMENSIONS, type UsageCube } from './usage.ts'
import { toUsageRange } from './usage-range.ts'
import type { UsageRepository } from './usage-repository.ts'
import { cutIntoSlots, needsHours, type UsageSlots } from './usage-slots.ts'
import { ZoneCalendar } from './zone-calendar.ts'

/** A finer split is truncated, and its totals include the rest; a narrower filter shows it. */
const USAGE_ROWS_MAX = 1_000

export interface UsageServiceDeps {
  usage: UsageRepository
  clock: Clock
  /** Days for which hours are kept; sums by UTC day are kept forever. */
  hourlyRetentionDays: number
}

/** An account's usage and payments, from roll-ups written with each settlement, whose sums equal the ledger. */
export class UsageService {
  readonly #deps: UsageServiceDeps

  constructor(deps: UsageServiceDeps) {
    this.#deps = deps
  }

  /**
   * Usage of at most 90 days of a time zone, split by the given dimensions: at most 1,000 rows, and the totals of all.
   * Amounts are nano-USD. A request counts at the time of its admission. Fails with `invalid_request` that names `from`
   * or `to` if the range is incomplete, reversed, too long, begins in the future, or begins before the hours that it
   * needs.
   */
  async cube(accountId: string, query: UsageQuery): Promise<UsageCube> {
    const { timeZone, orderBy: order } = query
    const calendar = new ZoneCalendar(timeZone)
    const range = toUsageRange(query, calendar.dayOf(this.#deps.clock.now()))
    const dimensions = USAGE_DIMENSIONS.filter((dimension) => query.groupBy.includes(dimension))
    const unit = dimensions.find(isTimeUnit) ?? null
    const cut = cutIntoSlots(range, unit, calendar)
    if (unit === 'hour' || needsHours(cut)) this.#assertHoursKept(cut)
    const found = await this.#deps.usage.cube(accountId, {
      ...cut,
      dimensions,
      filter: query.filter ?? {},
      order,
      rowsMax: USAGE_ROWS_MAX,
    })
    return { ...range, timeZone, ...found }
  }
  #assertHoursKept({ boundsMs }: UsageSlots): void {
    const { clock, hourlyRetentionDays } = this.#deps
    const firstDay = addDays(utcDay(clock.now()), -hourlyRetentionDays)
    if ((boundsMs[0] ?? 0) >= Date.parse(firstDay)) return
    const wayOut = 'earlier usage can be grouped by UTC days, weeks and months'
    throw invalidField('from', `is before ${firstDay}, the first day with hourly usage; ${wayOut}`)
  }
}
