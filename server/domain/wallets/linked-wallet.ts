import type { WalletAddress } from './wallet-address.ts'

/** A wallet that acts as an account other than its own. */
export interface LinkedWallet extends WalletAddress {
  linkedAt: Date
}
