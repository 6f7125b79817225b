/** Sessions of wallets that were ended before their time. Only these have a row, until their time has come. */
export interface RevokedWalletSessionsTable {
  session_id: string
  expires_at: Date
}
