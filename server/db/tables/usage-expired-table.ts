/** What usage events that are no longer kept had charged, so that events and ledger still add up. */
export interface UsageExpiredTable {
  account_id: string
  /** All zeros stands for usage without a key. */
  key_id: string
  currency: 'usd' | 'diem'
  charge_nano: bigint
}
