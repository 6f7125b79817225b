/** Wallets that act as an account other than their own. */
export interface WalletLinksTable {
  wallet_chain: 'evm' | 'solana'
  /** In its canonical form. */
  wallet_address: string
  account_id: string
  linked_at: Date
}
