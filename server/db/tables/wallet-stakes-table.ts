/** What wallets had in the staking contract when a UTC day began, and whose allowance it is on that day. */
export interface WalletStakesTable {
  /** EVM, in lower case. */
  wallet_address: string
  /** The account that the wallet used when its stake of the day was read; a later link counts from the next day on. */
  account_id: string
  day: string
  stake_nano: bigint
}
