import type { SignInMessage } from '../graphql/records.ts'
import { randomHex } from '../http/transport.ts'
import { toBase58, toHex } from './base58.ts'
import type { Wallet, WalletSignature } from './wallet.ts'

const LIFETIME_MS = 5 * 60_000

const CHAINS = {
  evm: { name: 'Ethereum', chainId: 'eip155:8453', type: 'eip191' },
  solana: { name: 'Solana', chainId: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', type: 'ed25519' },
} as const

/**
 * The value of a `SIGN-IN-WITH-X` header: the wallet's proof that it sent this request. Valid for one request within
 * five minutes.
 */
export function createSignIn(wallet: Wallet, publicUrl: string): Promise<string> {
  const { host: domain, origin: uri } = new URL(publicUrl)
  const nowMs = Date.now()
  return signChallenge(wallet, {
    domain,
    uri,
    version: '1',
    nonce: randomHex(16),
    issuedAt: new Date(nowMs).toISOString(),
    expirationTime: new Date(nowMs + LIFETIME_MS).toISOString(),
    statement: `Use ${domain} with the balance of this wallet.`,
    resources: [uri],
  })
}

/** Signs a challenge's `info` with a wallet: returns Base64 of its fields with the signature. */
export async function signChallenge(wallet: Wallet, message: SignInMessage): Promise<string> {
  const { name, chainId, type } = isEvm(wallet) ? CHAINS.evm : CHAINS.solana
  const { domain, uri, version, nonce, issuedAt, expirationTime, statement, resources } = message
  const { address } = wallet
  // EIP-4361 for EVM wallets; Solana wallets sign the same lines under their own name.
  const text = [
    `${domain} wants you to sign in with your ${name} account:`,
    `${address}\n`,
    `${statement}\n`,
    `URI: ${uri}`,
    `Version: ${version}`,
    `Chain ID: ${chainId.split(':')[1]}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    `Expiration Time: ${expirationTime}`,
    'Resources:',
    ...resources.map((resource) => `- ${resource}`),
  ].join('\n')
  return btoa(JSON.stringify({ ...message, address, chainId, type, signature: await signText(wallet, text) }))
}

/** The wallet's signature as text: hexadecimal on EVM, Base58 on Solana. */
export async function signText(wallet: Wallet, text: string): Promise<string> {
  const signature: WalletSignature = await wallet.signMessage(text)
  if (typeof signature === 'string') return signature
  return isEvm(wallet) ? `0x${toHex(signature)}` : toBase58(signature)
}

function isEvm({ address }: Wallet): boolean {
  return address.startsWith('0x')
}
