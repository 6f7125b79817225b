import type { Balance } from '../ledger/ledger.ts'
import type { Currency } from '../money.ts'

/** A smaller balance is not useful, because requests may be rejected. */
const CONSUMABLE_NANO_USD_MIN = 100_000_000n

export interface BillingBalance {
  /** Whether both currencies together have at least 0.10 USD that is not reserved by holds. */
  canConsume: boolean
  /** Currency of the next request: DIEM before USD; null if neither is left. */
  consumptionCurrency: Currency | null
  usdNano: bigint
  /** Null if the account never had an allowance. */
  diemNano: bigint | null
  /** DIEM granted for the current UTC day, by the operator and for stake on Base. */
  diemAllocationNano: bigint
}

export function toBillingBalance(balances: readonly Balance[], diemAllocationNano: bigint): BillingBalance {
  const of = (currency: Currency) => balances.find((balance) => balance.currency === currency)
  const freeOf = (currency: Currency) => (of(currency)?.balanceNanoUsd ?? 0n) - (of(currency)?.heldNanoUsd ?? 0n)
  const currencies: readonly Currency[] = ['diem', 'usd']
  return {
    canConsume: freeOf('diem') + freeOf('usd') >= CONSUMABLE_NANO_USD_MIN,
    consumptionCurrency: currencies.find((currency) => freeOf(currency) > 0n) ?? null,
    usdNano: of('usd')?.balanceNanoUsd ?? 0n,
    diemNano: of('diem')?.balanceNanoUsd ?? null,
    diemAllocationNano,
  }
}
