/** Nonces and tokens that were used. A row matters until it expires. */
export interface SingleUseClaimsTable {
  claim_key: string
  expires_at: Date
}
