/** Wallet sessions that were revoked before they expired; a row is deleted once its session would have expired. */
export interface RevokedWalletSessionsTable {
  session_id: string
  expires_at: Date
}
