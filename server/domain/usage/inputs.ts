import { z } from 'zod'
import { isUuid } from '../uuid.ts'
import { USAGE_DIMENSIONS } from './usage.ts'

const FILTER_VALUES_MAX = 100
const NAME_CHARACTERS_MAX = 256
/** Usage is no older than the service, and databases know no year zero. */
const DAY_MIN = '2000-01-01'

const DAY_FORM = { error: 'must be a day of the calendar in the form YYYY-MM-DD' }

/** A UTC day, `YYYY-MM-DD`. */
const Day = z.iso.date(DAY_FORM).refine((day) => day >= DAY_MIN, { error: `must not be before ${DAY_MIN}` })

const Name = z
  .string()
  .min(1)
  .max(NAME_CHARACTERS_MAX)
  .regex(/^\P{Cc}*$/u, { error: 'must have no control characters' })

/** One of several values, any of which matches. */
const anyOf = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .min(1, { error: 'needs a value; leave the list out for all' })
    .max(FILTER_VALUES_MAX, { error: `has more than ${FILTER_VALUES_MAX} values; ask several times` })
    .nullish()

/** What a usage report covers and how it is split. Absent days are the last 7, today included. */
export const UsageQuery = z.strictObject({
  from: Day.nullish(),
  to: Day.nullish(),
  groupBy: z.array(z.enum(USAGE_DIMENSIONS)).max(USAGE_DIMENSIONS.length).default([]),
  filter: z
    .strictObject({
      skus: anyOf(Name),
      networks: anyOf(Name),
      apiKeyIds: anyOf(z.string().refine(isUuid, { error: 'must be an `apiKeyId`' })),
      currencies: anyOf(z.enum(['usd', 'diem'])),
    })
    .nullish(),
})
export type UsageQuery = z.output<typeof UsageQuery>
export type UsageFilter = NonNullable<UsageQuery['filter']>
