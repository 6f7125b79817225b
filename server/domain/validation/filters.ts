import { z } from 'zod'
import { nameText } from './text.ts'

const VALUES_MAX = 100
const NAME_CHARACTERS_MAX = 256

/** A name that is safe to query in the database. */
export const FilterName = nameText(NAME_CHARACTERS_MAX)

/** A list of values, any of which matches; absent matches everything. */
export const anyOf = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .min(1, { error: 'must not be empty; omit the list to match everything' })
    .max(VALUES_MAX, { error: `has more than ${VALUES_MAX} values; send several requests` })
    .nullish()
