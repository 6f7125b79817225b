import { signInRefused } from './sign-in-error.ts'

/** Asks contract wallets on Base (EIP-1271), deployed or not yet (ERC-6492). Throws when the node does not answer. */
export interface ContractWalletVerifier {
  isValid(signed: WalletSignature): Promise<boolean>
}

export interface WalletSignature {
  address: string
  text: string
  signature: string
  /** Network address of the client that sent it, which bounds how many checks it may cause at the same time. */
  clientAddress: string
}

/** Of a key: 65 bytes, or 64 where the recovery bit is folded into s (EIP-2098). */
const KEY_SIGNATURE = /^0x(?:[0-9a-fA-F]{128}|[0-9a-fA-F]{130})$/
/** Of a key, a contract wallet, or one that is not deployed yet. */
export const ANY_SIGNATURE = /^0x(?:[0-9a-fA-F]{2}){1,3800}$/

// Half a second and some 30 MB to load, so a server without wallets never does.
const libraries = async () => {
  const [{ SiweMessage }, { getAddress, verifyMessage }] = await Promise.all([import('siwe'), import('ethers')])
  return { SiweMessage, getAddress, verifyMessage }
}
let loading: ReturnType<typeof libraries> | undefined

const load = () => (loading ??= libraries())

/** The address as EIP-55 writes it, which is what wallets sign. */
export async function checksummed(address: string): Promise<string> {
  const { getAddress } = await load()
  return getAddress(address.toLowerCase())
}

/** Fails with `sign_in_refused` unless the text is EIP-4361 to the letter and the wallet at `address` signed it (EIP-191, EIP-1271, ERC-6492). */
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

/** Whether the wallet at `address` signed a text of any kind (EIP-191, EIP-1271, ERC-6492). */
export async function isSignedByWallet(
  signed: WalletSignature,
  contractWallets: ContractWalletVerifier | null,
): Promise<boolean> {
  if (!ANY_SIGNATURE.test(signed.signature)) return false
  return (await isSignedByKey(signed)) || (contractWallets !== null && contractWallets.isValid(signed))
}

/** A second reading by the standard's own grammar: whatever it sees otherwise than we do is refused. */
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
    // Points that are not on the curve.
    return false
  }
}
