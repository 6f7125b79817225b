import { base58 } from '@scure/base'
import { createKeyPairSignerFromPrivateKeyBytes, createSignableMessage } from '@solana/kit'
import { Wallet } from 'ethers'
import nacl from 'tweetnacl'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { formatSignInMessage, type SignInMessage } from '../../server/domain/wallets/sign-in/sign-in-message.ts'

/** A wallet in some library's hands: it signs any text. */
export interface WalletSigner {
  chain: 'evm' | 'solana'
  /** As wallets write it: in mixed case on EVM. */
  address: string
  sign: (text: string) => Promise<string>
}

export function viemSigner(privateKey = generatePrivateKey()): WalletSigner {
  const account = privateKeyToAccount(privateKey)
  return { chain: 'evm', address: account.address, sign: (message) => account.signMessage({ message }) }
}

export function ethersSigner(): WalletSigner {
  const wallet = Wallet.createRandom()
  return { chain: 'evm', address: wallet.address, sign: (message) => wallet.signMessage(message) }
}

export function naclSigner(): WalletSigner {
  const { publicKey, secretKey } = nacl.sign.keyPair()
  return {
    chain: 'solana',
    address: base58.encode(publicKey),
    sign: async (text) => base58.encode(nacl.sign.detached(Buffer.from(text), secretKey)),
  }
}

export async function kitSigner(): Promise<WalletSigner> {
  const signer = await createKeyPairSignerFromPrivateKeyBytes(nacl.randomBytes(32), true)
  return {
    chain: 'solana',
    address: signer.address,
    sign: async (text) => {
      const [signatures] = await signer.signMessages([createSignableMessage(text)])
      return base58.encode(signatures?.[signer.address] ?? new Uint8Array())
    },
  }
}

export interface SignInOptions {
  /** Of the service that is called. */
  origin?: string
  now?: Date
  /** Fields of the signed message in place of the usual ones. */
  fields?: Partial<SignInMessage>
  /** Fields of the JSON in place of the usual ones; undefined leaves one out. */
  json?: Record<string, unknown>
}

export const SERVICE_ORIGIN = 'http://localhost:3000'

export function signInFields({ chain, address }: WalletSigner, options: SignInOptions = {}): SignInMessage {
  const { origin = SERVICE_ORIGIN, now = new Date(), fields } = options
  return {
    chain,
    domain: new URL(origin).host,
    address,
    statement: 'Sign in',
    uri: `${origin}/api/v1/chat/completions`,
    version: '1',
    chainId: chain === 'evm' ? '8453' : '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    nonce: Buffer.from(nacl.randomBytes(16)).toString('hex'),
    issuedAt: now.toISOString(),
    expirationTime: new Date(now.getTime() + 300_000).toISOString(),
    notBefore: undefined,
    requestId: undefined,
    resources: undefined,
    ...fields,
  }
}

/** The header as x402's sign-in extension writes it: the fields of the message. */
export async function fieldHeader(signer: WalletSigner, options: SignInOptions = {}): Promise<string> {
  const fields = signInFields(signer, options)
  const { chain, ...written } = fields
  return encode({
    ...written,
    chainId: chain === 'evm' ? 'eip155:8453' : 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    type: chain === 'evm' ? 'eip191' : 'ed25519',
    signature: await signer.sign(formatSignInMessage(fields)),
    ...options.json,
  })
}

/** The header that holds the signed text itself. */
export async function textHeader(
  signer: WalletSigner,
  options: SignInOptions & { text?: string } = {},
): Promise<string> {
  const fields = signInFields(signer, options)
  const message = options.text ?? formatSignInMessage(fields)
  return encode({
    address: signer.address,
    message,
    signature: await signer.sign(message),
    timestamp: Date.parse(fields.issuedAt),
    chainId: fields.chain === 'evm' ? 8453 : 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    ...(fields.chain === 'solana' ? { type: 'ed25519' } : {}),
    ...options.json,
  })
}

export function encode(document: unknown): string {
  return Buffer.from(JSON.stringify(document)).toString('base64')
}
