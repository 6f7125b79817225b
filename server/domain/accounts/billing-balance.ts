import type { Balance } from '../ledger/ledger.ts'
import type { Currency } from '../money.ts'

/** Below this a request may be refused, so small a rest is of no use. */
const CONSUMABLE_NANO_USD_MIN = 100_000_000n

/** What an account has, in nano-USD. */
export interface BillingBalance {
  /** Whether both currencies together leave at least 0.10 USD that no open request holds. */
  canConsume: boolean
  /** What the next request is paid in: DIEM before USD; null when there is neither. */
  consumptionCurrency: Currency | null
  usdNano: bigint
  /** Null for an account that never had an allowance. */
  diemNano: bigint | null
  /** What the account was granted for the current UTC day, by the operator and by stake on Base. */
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
