import type { WalletAddress } from './wallet-address.ts'

/** A wallet that is linked to another account. */
export interface LinkedWallet extends WalletAddress {
  linkedAt: Date
}
