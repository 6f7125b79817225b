/** The stakes of wallets when a UTC day began, and the account that receives the allowance of that day. */
export interface WalletStakesTable {
  /** EVM, in lower case. */
  wallet_address: string
  /** The account that the wallet used when its stake of the day was read; a later link counts from the next day. */
  account_id: string
  day: string
  stake_nano: bigint
}
