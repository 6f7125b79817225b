/** Materialised balance of one account in one currency; the database checks `0 <= held_nano <= balance_nano`. */
export interface BalancesTable {
  account_id: string
  currency: 'usd' | 'diem'
  balance_nano: bigint
  held_nano: bigint
  /** Number of ledger transfers so far; the next one takes `sequence + 1`. */
  sequence: bigint
  /** DIEM only: the UTC day whose allowance the balance holds. */
  epoch_day: string | null
}
