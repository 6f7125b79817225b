import { z } from 'zod'
import { anyOf, FilterName } from '../filter-values.ts'
import { USAGE_OUTCOMES } from '../metering/hold.ts'
import { isUuid } from '../uuid.ts'

const YEAR_MIN = 2000
const YEAR_MAX = 9998

const Instant = z.date().refine((at) => at.getUTCFullYear() >= YEAR_MIN && at.getUTCFullYear() <= YEAR_MAX, {
  error: `must lie in the years ${YEAR_MIN} to ${YEAR_MAX}`,
})

/** Which requests a log shows. An absent list is everything; several conditions must all match. */
export const RequestFilter = z.strictObject({
  /** Admitted at or after; absent is 90 days back. */
  from: Instant.nullish(),
  /** Admitted before; absent is now. */
  to: Instant.nullish(),
  apiKeyIds: anyOf(z.string().refine(isUuid, { error: 'must be an `apiKeyId`' })),
  skus: anyOf(FilterName),
  outcomes: anyOf(z.enum(USAGE_OUTCOMES)),
})
export type RequestFilter = z.output<typeof RequestFilter>
