/** The charges of deleted usage events, so events and ledger still add up. */
export interface UsageExpiredTable {
  account_id: string
  /** All zeros for usage without a key. */
  key_id: string
  currency: 'usd' | 'diem'
  charge_nano: bigint
}
