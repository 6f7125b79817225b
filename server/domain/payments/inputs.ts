import { z } from 'zod'
import { PageRequest } from '../page.ts'
import { Reason } from '../validation/text.ts'
import { PAYMENT_STATES } from './payment.ts'

export const ListPaymentsInput = PageRequest.extend({
  state: z
    .enum([...PAYMENT_STATES, 'unresolved', 'disappeared'])
    .optional()
    .describe(
      'One state, or unresolved (outcome unknown), or disappeared (credited, but the transfer disappeared from the chain)',
    ),
})
export type ListPaymentsInput = z.output<typeof ListPaymentsInput>

/** Reverses the credit of a payment whose transfer disappeared from the chain. */
export const CorrectPaymentInput = z.strictObject({ paymentId: z.uuid(), reason: Reason })
export type CorrectPaymentInput = z.output<typeof CorrectPaymentInput>

export const ReconcilePaymentsInput = z.strictObject({}).prefault({})
