import type { Currency } from '../money.ts'
import type { ConsumptionLimits, LimitPeriod } from './api-key.ts'

export interface SpendNano {
  usdNano: bigint
  diemNano: bigint
}

export interface KeySpend {
  keyId: string
  currency: Currency
  heldNano: bigint
  /** The last UTC day with usage, and the amount charged on it. */
  day: string
  dayNano: bigint
  /** First day of the month counted by `monthNano`. */
  month: string
  monthNano: bigint
  lifetimeNano: bigint
  /** Decimal text; null if nothing was charged on the requested days. */
  recentNano: string | null
}

export interface ApiKeyUsage {
  /** Today and the six UTC days before it. */
  trailingSevenDays: SpendNano
  /** Charged in the key's current limit period, without the holds of open requests. */
  currentPeriod: SpendNano
  held: SpendNano
}

export const NO_USAGE: ApiKeyUsage = {
  trailingSevenDays: { usdNano: 0n, diemNano: 0n },
  currentPeriod: { usdNano: 0n, diemNano: 0n },
  held: { usdNano: 0n, diemNano: 0n },
}

/** The amount that a new request may still spend within a key's limits; null means no limit. */
export function remainingOf(limits: ConsumptionLimits, { currentPeriod, held }: ApiKeyUsage): ConsumptionLimits {
  const left = (limit: bigint | null, currency: keyof SpendNano): bigint | null => {
    if (limit === null) return null
    const rest = limit - currentPeriod[currency] - held[currency]
    return rest > 0n ? rest : 0n
  }
  return { usdNano: left(limits.usdNano, 'usdNano'), diemNano: left(limits.diemNano, 'diemNano') }
}

/** When the spending of a period resets to zero; null if never. */
export function periodEndOf(period: LimitPeriod, now: Date): Date | null {
  if (period === 'LIFETIME') return null
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  return new Date(period === 'MONTH' ? Date.UTC(year, month + 1, 1) : Date.UTC(year, month, day + 1))
}

/** A key's spending in the period that contains `today`; counters of an earlier day or month count as zero. */
export function periodSpentNano(
  spend: Pick<KeySpend, 'day' | 'dayNano' | 'month' | 'monthNano' | 'lifetimeNano'>,
  period: LimitPeriod,
  today: string,
): bigint {
  if (period === 'EPOCH') return spend.day >= today ? spend.dayNano : 0n
  if (period === 'MONTH') return spend.month >= `${today.slice(0, 7)}-01` ? spend.monthNano : 0n
  return spend.lifetimeNano
}
