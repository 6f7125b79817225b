import { z } from 'zod'
import { PageRequest } from '../page.ts'
import { Reason } from '../validation/text.ts'
import { PAYMENT_STATES } from './payment.ts'

/** A page of payments by wallet, newest first. */
export const ListPaymentsInput = PageRequest.extend({
  state: z
    .enum([...PAYMENT_STATES, 'unresolved', 'disappeared'])
    .optional()
    .describe(
      'One state, or unresolved (outcome unknown), or disappeared (credited, but the transfer disappeared from the chain)',
    ),
})
export type ListPaymentsInput = z.output<typeof ListPaymentsInput>

/** The payment whose credit is taken back, because its transfer disappeared from the chain. */
export const CorrectPaymentInput = z.strictObject({ paymentId: z.uuid(), reason: Reason })
export type CorrectPaymentInput = z.output<typeof CorrectPaymentInput>

/** Nothing to choose: every payment that is not ended is looked at. */
export const ReconcilePaymentsInput = z.strictObject({}).prefault({})
