import { z } from 'zod'

const VALUES_MAX = 100
const NAME_CHARACTERS_MAX = 256

/** A name that the database can be asked for. */
export const FilterName = z
  .string()
  .min(1)
  .max(NAME_CHARACTERS_MAX)
  .regex(/^\P{Cc}*$/u, { error: 'must have no control characters' })

/** One of several values, any of which matches; absent is everything. */
export const anyOf = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .min(1, { error: 'needs a value; leave the list out for all' })
    .max(VALUES_MAX, { error: `has more than ${VALUES_MAX} values; ask several times` })
    .nullish()
