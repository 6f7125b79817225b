import { formatUsd } from '../money.ts'
import { paymentError } from './payment-errors.ts'
import { NANO_USD_PER_ATOMIC, TOP_UP_MAX_ATOMIC, TOP_UP_MIN_ATOMIC } from './payment-options.ts'

/** The payer chooses the amount within these bounds. */
export function checkAmount(amountAtomic: bigint): void {
  if (amountAtomic < TOP_UP_MIN_ATOMIC) {
    throw paymentError(
      'payment_too_low',
      `The payment is ${usd(amountAtomic)} USD; the minimum is ${usd(TOP_UP_MIN_ATOMIC)} USD`,
    )
  }
  if (amountAtomic > TOP_UP_MAX_ATOMIC) {
    throw paymentError(
      'payment_too_high',
      `The payment is ${usd(amountAtomic)} USD; the maximum is ${usd(TOP_UP_MAX_ATOMIC)} USD`,
    )
  }
}

function usd(amountAtomic: bigint): string {
  return formatUsd(amountAtomic * NANO_USD_PER_ATOMIC)
}
