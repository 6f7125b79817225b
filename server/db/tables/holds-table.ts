/** Open holds only: settling or releasing one deletes it, so `held_nano` of a balance is the sum of its rows. */
export interface HoldsTable {
  account_id: string
  request_id: string
  key_id: string | null
  currency: 'usd' | 'diem'
  amount_nano: bigint
  /** UTC day of the admission, which decides the limit period of the charge. */
  day: string
  admitted_at: Date
  /** The server process that must settle it. */
  process_id: string
}
