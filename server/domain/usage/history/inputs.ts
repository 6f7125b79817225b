import { z } from 'zod'
import type { Currency } from '../../money.ts'

const PAGE_SIZE_MIN = 10
const PAGE_SIZE_MAX = 1_000
const INSTANT_CHARACTERS_MAX = 40
/** An earlier year is a typing error, because nobody was charged then. */
const YEAR_MIN = '2000'
const YEAR_END = '2100'

/** An ISO 8601 time in UTC, truncated to milliseconds. */
const Instant = z
  .string()
  .max(INSTANT_CHARACTERS_MAX, { error: `must have at most ${INSTANT_CHARACTERS_MAX} characters`, abort: true })
  .pipe(z.iso.datetime({ error: 'must be a time in ISO 8601, such as 2026-01-31T00:00:00Z' }))
  .refine((text) => text >= YEAR_MIN && text < YEAR_END, { error: `must be in the years ${YEAR_MIN} to 2099` })
  .transform((text) => new Date(text))

const PageSize = z
  .string()
  .regex(/^\d{1,4}$/, { error: `must be a whole number from ${PAGE_SIZE_MIN} to ${PAGE_SIZE_MAX}`, abort: true })
  .transform(Number)
  .pipe(
    z
      .int()
      .min(PAGE_SIZE_MIN, { error: `must be at least ${PAGE_SIZE_MIN}` })
      .max(PAGE_SIZE_MAX, { error: `must be at most ${PAGE_SIZE_MAX}` }),
  )

/** Filter of a history listing; its cursors contain it. */
export const UsageHistoryFilter = z.object({
  currency: z
    .enum(['USD', 'DIEM'], { error: 'must be USD or DIEM' })
    .transform((name): Currency => (name === 'USD' ? 'usd' : 'diem'))
    .optional(),
  startTimestamp: Instant.optional(),
  endTimestamp: Instant.optional(),
  pageSize: PageSize.default(PAGE_SIZE_MAX),
})
export type UsageHistoryFilter = z.output<typeof UsageHistoryFilter>

/** Either a filter for the first page, or only a cursor for the next ones. */
export const UsageHistoryQuery = z
  .object({
    ...UsageHistoryFilter.shape,
    pageSize: PageSize.optional(),
    cursor: z
      .string()
      .regex(/^[\w-]{1,512}$/, { error: 'must be a nextCursor of this list' })
      .optional(),
  })
  .superRefine(({ cursor, startTimestamp, endTimestamp, ...others }, context) => {
    const filtered = [startTimestamp, endTimestamp, others.currency, others.pageSize].some((part) => part !== undefined)
    if (cursor !== undefined && filtered) {
      const message = 'must be sent alone: it contains the filter of its first page'
      context.addIssue({ code: 'custom', path: ['cursor'], message })
    }
    if (startTimestamp !== undefined && endTimestamp !== undefined && endTimestamp <= startTimestamp) {
      context.addIssue({ code: 'custom', path: ['endTimestamp'], message: 'must be after startTimestamp' })
    }
  })
  .transform(({ pageSize = PAGE_SIZE_MAX, ...rest }) => ({ ...rest, pageSize }))
export type UsageHistoryQuery = z.output<typeof UsageHistoryQuery>
