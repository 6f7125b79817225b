/** A signature: the wallet's hexadecimal or Base58 string, or its bytes. */
export type WalletSignature = string | Uint8Array

type Hex = `0x${string}`

/** The data that an EVM wallet signs to pay: EIP-712 data of EIP-3009's `TransferWithAuthorization`. */
export interface PaymentTypedData {
  domain: { name: string; version: string; chainId: number; verifyingContract: Hex }
  types: { TransferWithAuthorization: { name: string; type: string }[] }
  primaryType: 'TransferWithAuthorization'
  message: { from: Hex; to: Hex; value: bigint; validAfter: bigint; validBefore: bigint; nonce: Hex }
}

/** A wallet that signs requests instead of using an API key, and pays for them if it can sign payments. */
export interface Wallet {
  /** `0x…` with its checksum for EVM, Base58 for Solana. The format decides how the wallet signs in. */
  address: string
  /** EVM: EIP-191, as `personal_sign`. Solana: Ed25519 over the text's UTF-8 bytes. */
  signMessage: (message: string) => WalletSignature | Promise<WalletSignature>
  /** EVM only: signs payments. */
  signTypedData?: ((data: PaymentTypedData) => string | Promise<string>) | undefined
  /** Solana only: signs a payment. Input and output are the bytes of a whole transaction. */
  signTransaction?: ((transaction: Uint8Array) => Uint8Array | Promise<Uint8Array>) | undefined
  /**
   * Solana only: returns a recent blockhash for a payment. By default the client queries the service's own node, which
   * is charged to the balance.
   */
  latestBlockhash?: (() => Promise<string>) | undefined
}

interface ViemAccount {
  address: string
  signMessage: (parameters: { message: string }) => Promise<string>
  signTypedData: (data: PaymentTypedData) => Promise<string>
}

/**
 * A local account of viem as a wallet.
 *
 * @example
 * const wallet = fromViem(privateKeyToAccount(privateKey))
 * const sluice = createClient({ baseUrl, wallet })
 */
export function fromViem(account: ViemAccount): Wallet {
  return {
    address: account.address,
    signMessage: (message) => account.signMessage({ message }),
    signTypedData: (data) => account.signTypedData(data),
  }
}
