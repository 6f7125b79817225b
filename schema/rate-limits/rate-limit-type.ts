import type { RateLimitType } from '../../server/domain/rate-limits/refusal.ts'
import { builder } from '../builder.ts'

export const RateLimitTypeEnum = builder.enumType('RateLimitType', {
  description: 'The kind of a limit.',
  values: {
    RPM: { description: 'Requests per minute.' },
    TPM: { description: 'Tokens per minute.' },
    RPD: { description: 'RPC credits in any 24 hours.' },
    FAILED_REQUESTS: { description: 'Failed requests: after too many of them, the caller must wait.' },
  } satisfies Record<RateLimitType, { description: string }>,
})
