import { z } from 'zod'
import { safeParseDescribed } from './described.ts'

/** Items validated at once; validation stops after the first group with an error. */
const CHECKED_AT_ONCE = 64
/** More errors would not help a caller, and describing thousands would take long. */
const REPORTED_FAULTS_MAX = 20

/** A list whose length is checked before its items, and which reports only the first errors. */
export function boundedList<Item extends z.ZodType>(item: Item, itemsMax: number) {
  const some = z.array(item)
  return z
    .array(z.unknown())
    .max(itemsMax)
    .transform((values, context): z.output<Item>[] => {
      const items: z.output<Item>[] = []
      for (let start = 0; start < values.length; start += CHECKED_AT_ONCE) {
        const parsed = safeParseDescribed(some, values.slice(start, start + CHECKED_AT_ONCE))
        if (parsed.success) {
          items.push(...parsed.data)
          continue
        }
        for (const issue of parsed.error.issues.slice(0, REPORTED_FAULTS_MAX)) {
          const [index, ...path] = issue.path
          context.issues.push({
            ...issue,
            path: [start + Number(index), ...path],
            input: values,
          } as z.core.$ZodRawIssue)
        }
        return z.NEVER
      }
      return items
    })
}
