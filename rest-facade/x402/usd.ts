import { toUsdNumber } from '../../server/domain/money.ts'
import { NANO_USD_PER_ATOMIC } from '../../server/domain/payments/payment-options.ts'

/** Converts base units of USDC to a JSON number in USD. */
export function atomicToUsdNumber(amountAtomic: bigint): number {
  return toUsdNumber(amountAtomic * NANO_USD_PER_ATOMIC)
}
