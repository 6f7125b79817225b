import { toUsdNumber } from '../../server/domain/money.ts'
import { NANO_USD_PER_ATOMIC } from '../../server/domain/payments/payment-options.ts'

/** JSON number in USD of an amount in base units of USDC. */
export function atomicToUsdNumber(amountAtomic: bigint): number {
  return toUsdNumber(amountAtomic * NANO_USD_PER_ATOMIC)
}
