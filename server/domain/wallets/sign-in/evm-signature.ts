import { signInRefused } from './sign-in-error.ts'

/**
 * Verifies signatures of contract wallets on Base (EIP-1271), deployed or not yet (ERC-6492). Throws if the node does not
 * respond.
 */
export interface ContractWalletVerifier {
  isValid(signed: WalletSignature): Promise<boolean>
}

export interface WalletSignature {
  address: string
  text: string
  signature: string
  /** Network address of the client that sent it, which limits its concurrent checks. */
  clientAddress: string
}

/** Signature of a key: 65 bytes, or 64 if the recovery bit is folded into s (EIP-2098). */
const KEY_SIGNATURE = /^0x(?:[0-9a-fA-F]{128}|[0-9a-fA-F]{130})$/
/** Signature of a key or a contract wallet, deployed or not. */
export const ANY_SIGNATURE = /^0x(?:[0-9a-fA-F]{2}){1,3800}$/

// Loading takes half a second and about 30 MB, so a server without wallets never loads them.
const libraries = async () => {
  const [{ SiweMessage }, { getAddress, verifyMessage }] = await Promise.all([import('siwe'), import('ethers')])
  return { SiweMessage, getAddress, verifyMessage }
}
let loading: ReturnType<typeof libraries> | undefined

const load = () => (loading ??= libraries())

/** The address with its EIP-55 checksum, as wallets sign it. */
export async function checksummed(address: string): Promise<string> {
  const { getAddress } = await load()
  return getAddress(address.toLowerCase())
}

/**
 * Fails with `sign_in_refused` unless the text follows EIP-4361 exactly and the wallet at `address` signed it (EIP-191,
 * EIP-1271, ERC-6492).
 */
export async function verifyEvmSignature(
  signed: WalletSignature,
  contractWallets: ContractWalletVerifier | null,
): Promise<void> {
  if (!ANY_SIGNATURE.test(signed.signature)) {
    throw signInRefused('INVALID_SIGNATURE', 'the signature of an EVM wallet must be hexadecimal, beginning with 0x')
  }
  await assertGrammar(signed.text)
  if (await isSignedByWallet(signed, contractWallets)) return
  throw signInRefused('INVALID_SIGNATURE', 'the signature was not made by this wallet for this message')
}

/** Whether the wallet at `address` signed an arbitrary text (EIP-191, EIP-1271, ERC-6492). */
export async function isSignedByWallet(
  signed: WalletSignature,
  contractWallets: ContractWalletVerifier | null,
): Promise<boolean> {
  if (!ANY_SIGNATURE.test(signed.signature)) return false
  return (await isSignedByKey(signed)) || (contractWallets !== null && contractWallets.isValid(signed))
}

/** Parses the text again by the standard's own grammar, and rejects it if the two results differ. */
async function assertGrammar(text: string): Promise<void> {
  const { SiweMessage } = await load()
  const same = (): boolean => {
    try {
      return new SiweMessage(text).prepareMessage() === text
    } catch {
      return false
    }
  }
  if (same()) return
  throw signInRefused(
    'PARSE_ERROR',
    'the message does not follow the grammar of EIP-4361; its address must be in mixed case (EIP-55)',
  )
}

async function isSignedByKey({ address, text, signature }: { address: string; text: string; signature: string }) {
  if (!KEY_SIGNATURE.test(signature)) return false
  const { verifyMessage } = await load()
  try {
    return verifyMessage(text, signature).toLowerCase() === address
  } catch {
    // The library throws for points that are not on the curve.
    return false
  }
}
