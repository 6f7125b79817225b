import { addDays, type Clock, utcDay } from '../../clock.ts'
import type { PartitionSpan, UsagePartitionRepository, UsagePartitions } from './usage-partition-repository.ts'

/** What is kept by the hour. Sums go after what they are made of, so that none stands without it in between. */
const HOURS = ['usage_hourly', 'usage_hourly_totals'] as const
/** Days ahead that have a partition of their own; what falls outside them goes to the default one. */
const DAYS_AHEAD = 2

export interface UsageRetentionDeps {
  partitions: UsagePartitionRepository
  clock: Clock
  eventRetentionDays: number
  hourlyRetentionDays: number
}

/** Makes the partitions of usage ahead of time and drops those whose time is over; sums by day stay for good. */
export class UsageRetention {
  readonly #deps: UsageRetentionDeps

  constructor(deps: UsageRetentionDeps) {
    this.#deps = deps
  }

  /** Today and the next days have a partition for their requests, this month and the next one for their hours. */
  async prepare(): Promise<void> {
    const today = await this.#today()
    const days = Array.from({ length: DAYS_AHEAD + 1 }, (_, ahead) => daySpan(addDays(today, ahead)))
    const month = monthSpan(today)
    await this.#ensure('usage_events', days)
    for (const table of HOURS) await this.#ensure(table, [month, monthSpan(month.until)])
  }

  /** Prepares, then drops what is older than its retention. */
  async maintain(): Promise<void> {
    await this.prepare()
    const { eventRetentionDays, hourlyRetentionDays } = this.#deps
    const today = await this.#today()
    await this.#expire('usage_events', addDays(today, -eventRetentionDays))
    // Whole months only, so that the first hours that are kept are those of a whole day.
    for (const table of HOURS) await this.#expire(table, monthSpan(addDays(today, -hourlyRetentionDays)).from)
  }

  /** By the clock of the database: one process whose clock is ahead would drop what all others still need. */
  async #today(): Promise<string> {
    const { partitions, clock } = this.#deps
    return utcDay(await partitions.now(clock.now()))
  }

  async #ensure(table: UsagePartitions, spans: readonly PartitionSpan[]): Promise<void> {
    const present = new Set(await this.#deps.partitions.list(table))
    for (const span of spans) if (!present.has(span.key)) await this.#deps.partitions.create(table, span)
  }

  /** What a busy table does not let go is dropped in a later turn. */
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
