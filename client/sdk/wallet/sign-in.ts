import { randomHex } from '../http/transport.ts'
import { toBase58, toHex } from './base58.ts'
import type { Wallet, WalletSignature } from './wallet.ts'

const LIFETIME_MS = 5 * 60_000

const CHAINS = {
  evm: { name: 'Ethereum', chainId: 'eip155:8453', type: 'eip191' },
  solana: { name: 'Solana', chainId: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', type: 'ed25519' },
} as const

/**
 * The value of a `SIGN-IN-WITH-X` header: the wallet's proof that this request is its own. Good for one request within five
 * minutes.
 */
export async function createSignIn(wallet: Wallet, publicUrl: string): Promise<string> {
  const isEvm = wallet.address.startsWith('0x')
  const { name, chainId, type } = isEvm ? CHAINS.evm : CHAINS.solana
  const { host: domain, origin: uri } = new URL(publicUrl)
  const nowMs = Date.now()
  const proof = {
    domain,
    address: wallet.address,
    statement: `Use ${domain} with the balance of this wallet.`,
    uri,
    version: '1',
    chainId,
    type,
    nonce: randomHex(16),
    issuedAt: new Date(nowMs).toISOString(),
    expirationTime: new Date(nowMs + LIFETIME_MS).toISOString(),
  }
  // EIP-4361 for EVM wallets; Solana wallets sign the same lines under their own name.
  const message = [
    `${domain} wants you to sign in with your ${name} account:`,
    `${proof.address}\n`,
    `${proof.statement}\n`,
    `URI: ${uri}`,
    'Version: 1',
    `Chain ID: ${chainId.split(':')[1]}`,
    `Nonce: ${proof.nonce}`,
    `Issued At: ${proof.issuedAt}`,
    `Expiration Time: ${proof.expirationTime}`,
  ].join('\n')
  const signature = toText(await wallet.signMessage(message), isEvm)
  return btoa(JSON.stringify({ ...proof, signature }))
}

function toText(signature: WalletSignature, isEvm: boolean): string {
  if (typeof signature === 'string') return signature
  return isEvm ? `0x${toHex(signature)}` : toBase58(signature)
}
