import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { RecentCache } from '../../recent-cache.ts'
import { spansBetween, type UsageGrain, type UsageSpan } from './usage-roll-ups.ts'

const NO_KEY = '00000000-0000-0000-0000-000000000000'
const NO_DAY = '0001-01-01'
const ACCOUNTS_MAX = 10_000
const COLUMNS = sql`key_id, sku, line_type, unit_type, currency, model_name, model_type, requests, line_requests, units, amount_nano`

/** An account and its first day that is not summed up. */
export interface AccountDays {
  accountId: string
  closedUntil: string
}

/** A query result with `closedUntil`, the account's closed days in the query's own snapshot. */
interface OfClosedDays {
  closedUntil: string
}

/** Remembers the closed days of accounts, so that a report takes one statement. */
export class ClosedDays {
  readonly #db: Kysely<Database>
  readonly #seen = new RecentCache<string>({ entriesMax: ACCOUNTS_MAX })

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /**
   * Runs a query for the days that were closed when last seen. If a late settlement reopened some of them, it runs the
   * query again; if more days are closed, the query has read the rows of their settlements, which have the same sums.
   */
  async read<Answer extends OfClosedDays>(
    accountId: string,
    query: (account: AccountDays) => Promise<Answer>,
  ): Promise<Answer> {
    let closedUntil = this.#seen.get(accountId) ?? (await this.#look(accountId))
    for (;;) {
      const answer = await query({ accountId, closedUntil })
      this.#seen.set(accountId, answer.closedUntil)
      if (answer.closedUntil >= closedUntil) return answer
      closedUntil = answer.closedUntil
    }
  }

  async #look(accountId: string): Promise<string> {
    const { rows } = await sql<{ day: string }>`select ${closedUntilOf(accountId)} as day`.execute(this.#db)
    return rows[0]?.day ?? NO_DAY
  }
}

/** For the statement that depends on it, as text. */
export function closedUntilOf(accountId: string): RawBuilder<string> {
  return sql`coalesce((select closed_until::text from usage_closings where account_id = ${accountId}), ${NO_DAY})`
}

/** The fewest spans that cover the closed days between the first and last bound; no span crosses a bound. */
export function closedSpans({ closedUntil }: AccountDays, bounds: readonly string[]): UsageSpan[] {
  return spansBetween(bounds.map((day) => earlier(day, closedUntil)))
}

/** Sums of closed spans: the first `day` of each, and the columns of the daily roll-up. */
export function closedDays(account: AccountDays, grain: UsageGrain, spans: readonly UsageSpan[]): RawBuilder<unknown> {
  if (spans.length === 0) return sql`select day, ${COLUMNS} from usage_daily where false`
  const ofLengths = [...Map.groupBy(spans, ({ days }) => days)]
  const rows = ofLengths.map(([length, some]) => {
    const starts = some.map((span) => span.starts)
    // No other sum has fewer rows for everything by day than the daily roll-up itself.
    return grain === 'all' && length === 1
      ? sql`select day, ${COLUMNS} from usage_daily where ${spansOf(account, 'day', starts)}`
      : sql`select starts as day, ${COLUMNS} from usage_daily_totals
          where grain = ${sql.lit(grain)} and days = ${sql.lit(length)} and ${spansOf(account, 'starts', starts)}`
  })
  return sql.join(rows, sql` union all `)
}

/** The range avoids a scan of all closed days if the planner does not look each day up. */
function spansOf({ accountId }: AccountDays, column: 'day' | 'starts', starts: readonly string[]): RawBuilder<unknown> {
  const day = sql.ref(column)
  return sql`account_id = ${accountId} and ${day} >= ${starts[0]} and ${day} <= ${starts.at(-1)} and ${day} = any(${starts}::date[])`
}

/** The open days between the first and last bound, with the same columns. */
export function openDays({ accountId, closedUntil }: AccountDays, bounds: readonly string[]): RawBuilder<unknown> {
  const [from = closedUntil, until = from] = [bounds[0], bounds.at(-1)]
  return sql`select day, ${COLUMNS} from usage_daily
    where account_id = ${accountId} and day >= ${later(from, closedUntil)} and day < ${until}`
}

/** Every day between the first and last bound, only once; no row mixes days on both sides of a bound. */
export function allDays(account: AccountDays, grain: UsageGrain, bounds: readonly string[]): RawBuilder<unknown> {
  return sql`${closedDays(account, grain, closedSpans(account, bounds))} union all ${openDays(account, bounds)}`
}

const earlier = (a: string, b: string): string => (a < b ? a : b)
const later = (a: string, b: string): string => (a > b ? a : b)

export function keyIdOrNull(keyId: string): string | null {
  return keyId === NO_KEY ? null : keyId
}
