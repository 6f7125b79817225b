import { z } from 'zod'
import { LimitOverrides } from '../limit-overrides.ts'
import { PageRequest } from '../page.ts'
import { Reason } from '../validation/text.ts'

const Subject = z.strictObject({ accountId: z.string(), keyId: z.string().optional() })

export const AccountLimitsInput = z.strictObject({ accountId: z.string() })

/** Replaces the previous limits. The reason is for the operator's records. */
export const SetLimitsInput = Subject.extend({
  limits: LimitOverrides.refine((limits) => Object.values(limits).some((of) => Object.keys(of).length > 0), {
    error: "must set a number; to return to the tier's limits, clear the limits",
  }),
  reason: Reason,
})
export type SetLimitsInput = z.output<typeof SetLimitsInput>

export const ClearLimitsInput = Subject.extend({ reason: Reason })
export type ClearLimitsInput = z.output<typeof ClearLimitsInput>

export const ListRefusalsInput = PageRequest.extend({ accountId: z.string().optional() })
export type ListRefusalsInput = z.output<typeof ListRefusalsInput>
