/** The stake by which the DIEM of a UTC day was granted, the highest of the day. */
export interface DiemStakesTable {
  account_id: string
  day: string
  stake_nano: bigint
}
