/** Our transactions that a block included without their effect. Their fees are counted against whoever caused them. */
export interface SettlementFailuresTable {
  network: string
  transaction_id: string
  payer_chain: 'evm' | 'solana'
  payer_address: string
  client_network: string | null
  failed_at: Date
}
