import type { KeySpendRow } from '../../db/tables/key-spend-table.ts'
import type { LimitPeriod } from './api-key.ts'

/** Amounts of both currencies in nano-USD. */
export interface SpendNano {
  usdNano: bigint
  diemNano: bigint
}

export interface ApiKeyUsage {
  /** Today and the six UTC days before it. */
  trailingSevenDays: SpendNano
  /** Charged in the key's current limit period; what open requests hold is not in it. */
  currentPeriod: SpendNano
}

export const NO_USAGE: ApiKeyUsage = {
  trailingSevenDays: { usdNano: 0n, diemNano: 0n },
  currentPeriod: { usdNano: 0n, diemNano: 0n },
}

/** What a key spent in its period that contains `today`; counters of an earlier day or month count as zero. */
export function periodSpentNano(
  spend: Pick<KeySpendRow, 'day' | 'day_nano' | 'month' | 'month_nano' | 'lifetime_nano'>,
  period: LimitPeriod,
  today: string,
): bigint {
  if (period === 'EPOCH') return spend.day >= today ? spend.day_nano : 0n
  if (period === 'MONTH') return spend.month >= `${today.slice(0, 7)}-01` ? spend.month_nano : 0n
  return spend.lifetime_nano
}
