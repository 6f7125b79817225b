import { DomainError, type DomainErrorCode } from '../errors.ts'

export type PaymentErrorCode = Extract<DomainErrorCode, `payment_${string}`>

/**
 * A rejection before anything was settled; `reason` is the machine-readable cause, if a chain or facilitator gave one.
 */
export function paymentError(code: PaymentErrorCode, message: string, reason?: string): DomainError {
  return new DomainError(code, message, reason === undefined ? {} : { facts: { reason } })
}
