import { addDays, type Clock, utcDay } from '../../clock.ts'
import type { PartitionSpan, UsagePartitionRepository, UsagePartitions } from './usage-partition-repository.ts'

/** Hourly tables. Totals are dropped after their details, so that details are never without totals. */
const HOURS = ['usage_hourly', 'usage_hourly_totals'] as const
/** Days ahead with their own partition; other rows go to the default one. */
const DAYS_AHEAD = 2

export interface UsageRetentionDeps {
  partitions: UsagePartitionRepository
  clock: Clock
  eventRetentionDays: number
  hourlyRetentionDays: number
}

/** Creates usage partitions ahead of time and drops expired ones; daily sums are kept forever. */
export class UsageRetention {
  readonly #deps: UsageRetentionDeps

  constructor(deps: UsageRetentionDeps) {
    this.#deps = deps
  }

  /** Creates partitions for the requests of today and the next days, and for the hours of this month and the next. */
  async prepare(): Promise<void> {
    const today = await this.#today()
    const days = Array.from({ length: DAYS_AHEAD + 1 }, (_, ahead) => daySpan(addDays(today, ahead)))
    const month = monthSpan(today)
    await this.#ensure('usage_events', days)
    for (const table of HOURS) await this.#ensure(table, [month, monthSpan(month.until)])
  }

  /** Prepares, then drops everything older than its retention. */
  async maintain(): Promise<void> {
    await this.prepare()
    const { eventRetentionDays, hourlyRetentionDays } = this.#deps
    const today = await this.#today()
    await this.#expire('usage_events', addDays(today, -eventRetentionDays))
    // Drops only whole months, so that the first hours kept belong to a whole day.
    for (const table of HOURS) await this.#expire(table, monthSpan(addDays(today, -hourlyRetentionDays)).from)
  }

  /** Uses the database's clock, because a process with a fast clock would drop data that the others need. */
  async #today(): Promise<string> {
    const { partitions, clock } = this.#deps
    return utcDay(await partitions.now(clock.now()))
  }

  async #ensure(table: UsagePartitions, spans: readonly PartitionSpan[]): Promise<void> {
    const present = new Set(await this.#deps.partitions.list(table))
    for (const span of spans) if (!present.has(span.key)) await this.#deps.partitions.create(table, span)
  }

  /** If a table is busy, a later turn drops its partitions. */
  async #expire(table: UsagePartitions, beforeDay: string): Promise<void> {
    const { partitions } = this.#deps
    const { key: firstKept } = table === 'usage_events' ? daySpan(beforeDay) : monthSpan(beforeDay)
    for (const key of await partitions.list(table)) if (key < firstKept) await partitions.drop(table, key)
    while (await partitions.deleteFirstDay(table, beforeDay));
  }
}

function daySpan(day: string): PartitionSpan {
  return { key: day.replaceAll('-', ''), from: day, until: addDays(day, 1) }
}

function monthSpan(day: string): PartitionSpan {
  const from = `${day.slice(0, 7)}-01`
  const until = `${addDays(from, 31).slice(0, 7)}-01`
  return { key: from.slice(0, 7).replace('-', ''), from, until }
}
