import type { Currency } from '../money.ts'
import type { Usage } from './hold.ts'

/** One hold to place. */
export interface Admission {
  accountId: string
  requestId: string
  keyId: string | null
  amountNano: bigint
  /** Only for a late charge: the instant of the original request. The database's clock decides about all others. */
  lateAt: Date | null
}

export type AdmitOutcome =
  | 'admitted'
  | 'insufficient_balance'
  | 'key_limit_usd'
  | 'key_limit_diem'
  | 'key_inactive'
  /** Only for a late charge: the usage of its request exists, so there is nothing to charge. */
  | 'settled_before'

export interface AdmitResult {
  outcome: AdmitOutcome
  /** The currency that pays; null when rejected. */
  currency: Currency | null
  usdNano: bigint
  diemNano: bigint
  /** By the database's clock, which decides the day and month of the request; null when rejected. */
  admittedAt: Date | null
}

/** One hold to end. */
export interface Settlement {
  accountId: string
  requestId: string
  currency: Currency
  /** The day of the hold, `YYYY-MM-DD`. */
  day: string
  transferId: string
  chargeNano: bigint
  /** Null releases the hold: nothing is charged and no usage is written. */
  usage: Usage | null
}

export interface SettleResult {
  /** `settled_before`: an earlier attempt did it. `lost`: a sweeper released the hold first, so nothing was charged. */
  outcome: 'settled' | 'settled_before' | 'lost'
  chargedNano: bigint
  balanceAfterNano: bigint
}

/** `insufficient`: by the balance or the key's limit. `lost`: the hold has ended, or a sweeper released it. */
export type ExtendOutcome = 'extended' | 'insufficient' | 'key_inactive' | 'lost'

export interface SettleItem {
  kind: 'settle'
  item: Settlement
}
export interface AdmitItem {
  kind: 'admit'
  item: Admission
}
export type MoneyItem = SettleItem | AdmitItem

export interface SettleDecision {
  kind: 'settle'
  result: SettleResult
}
export interface AdmitDecision {
  kind: 'admit'
  result: AdmitResult
}
/** `busy`: another transaction has locked the account's balance, so nothing was done. */
export type MoneyResult = SettleDecision | AdmitDecision | { kind: 'busy' }
