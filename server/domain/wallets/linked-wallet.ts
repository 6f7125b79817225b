import type { WalletAddress } from './wallet-address.ts'

export interface LinkedWallet extends WalletAddress {
  linkedAt: Date
}
