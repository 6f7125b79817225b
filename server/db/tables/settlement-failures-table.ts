/** Transactions of ours that a block took without their effect. They cost fees, which are counted against their cause. */
export interface SettlementFailuresTable {
  network: string
  transaction_id: string
  payer_chain: 'evm' | 'solana'
  payer_address: string
  client_network: string | null
  failed_at: Date
}
