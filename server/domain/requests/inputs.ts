import { z } from 'zod'
import { USAGE_OUTCOMES } from '../metering/hold.ts'
import { anyOf, FilterName } from '../validation/filters.ts'
import { isUuid } from '../validation/uuid.ts'

const YEAR_MIN = 2000
const YEAR_MAX = 9998

const Instant = z.date().refine((at) => at.getUTCFullYear() >= YEAR_MIN && at.getUTCFullYear() <= YEAR_MAX, {
  error: `must be in the years ${YEAR_MIN} to ${YEAR_MAX}`,
})

/** Filter of the request log. An absent list matches everything; several conditions must all match. */
export const RequestFilter = z.strictObject({
  /** Admitted at or after; defaults to 90 days ago. */
  from: Instant.nullish(),
  /** Admitted before; defaults to now. */
  to: Instant.nullish(),
  apiKeyIds: anyOf(z.string().refine(isUuid, { error: 'must be an `apiKeyId`' })),
  skus: anyOf(FilterName),
  outcomes: anyOf(z.enum(USAGE_OUTCOMES)),
})
export type RequestFilter = z.output<typeof RequestFilter>

const REQUEST_ID = /^[0-9a-f]{32}$/

/** A request by its id, with or without dashes. */
export const ReceiptInput = z.object({
  requestId: z
    .string()
    .transform((text) => text.replaceAll('-', '').toLowerCase())
    .pipe(z.string().regex(REQUEST_ID, { error: 'must be the 32 hexadecimal characters of a response header CF-RAY' })),
})
