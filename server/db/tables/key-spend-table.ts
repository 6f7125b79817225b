/** A key's spending in the current day, the current month and in total, so one row decides a limit of any period. */
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
