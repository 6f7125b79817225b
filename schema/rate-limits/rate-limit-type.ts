import type { RateLimitType } from '../../server/domain/rate-limits/refusal.ts'
import { builder } from '../builder.ts'

export const RateLimitTypeEnum = builder.enumType('RateLimitType', {
  description: 'What is limited.',
  values: {
    RPM: { description: 'Requests per minute.' },
    TPM: { description: 'Tokens per minute.' },
    RPD: { description: 'RPC credits in any 24 hours.' },
    FAILED_REQUESTS: { description: 'Failed requests: who has too many waits before the next.' },
  } satisfies Record<RateLimitType, { description: string }>,
})
