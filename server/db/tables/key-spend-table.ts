/** What one key spent in the current day, the current month and ever, so that a limit of any period is one row away. */
export interface KeySpendTable {
  account_id: string
  key_id: string
  currency: 'usd' | 'diem'
  held_nano: bigint
  day: string
  day_nano: bigint
  /** First day of the month that `month_nano` counts. */
  month: string
  month_nano: bigint
  lifetime_nano: bigint
}
