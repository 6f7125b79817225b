import { z } from 'zod'
import { PageRequest } from '../page.ts'
import { PAYMENT_STATES } from './payment.ts'

/** A page of payments by wallet, newest first. */
export const ListPaymentsInput = PageRequest.extend({
  state: z
    .enum([...PAYMENT_STATES, 'unresolved'])
    .optional()
    .describe('One state, or unresolved: those whose end is unknown'),
})
export type ListPaymentsInput = z.output<typeof ListPaymentsInput>

/** Nothing to choose: every payment that is not ended is looked at. */
export const ReconcilePaymentsInput = z.strictObject({}).prefault({})
