/** The stake that granted the DIEM of a UTC day: the highest of the day. */
export interface DiemStakesTable {
  account_id: string
  day: string
  stake_nano: bigint
}
