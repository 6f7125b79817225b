import { createHash } from 'node:crypto'
import type { WalletCaller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { AbuseGuard } from '../../rate-limits/abuse-guard.ts'
import { networkOf } from '../../rate-limits/network-of.ts'
import { RecentCache } from '../../recent-cache.ts'
import type { WalletAccounts } from '../wallet-accounts.ts'
import { parseWalletAddress, type WalletAddress } from '../wallet-address.ts'
import { type ContractWalletVerifier, checksummed, verifyEvmSignature } from './evm-signature.ts'
import { checkSignInMessage, checkTimestamp, NONCE_KEPT_MS } from './sign-in-checks.ts'
import { signInRefused } from './sign-in-error.ts'
import { formatSignInMessage, parseSignInMessage, type SignInMessage } from './sign-in-message.ts'
import { PAYLOAD_CHARACTERS_MAX, readSignInPayload, type SignInPayload } from './sign-in-payload.ts'
import { checkPurpose } from './sign-in-purpose.ts'
import type { SingleUseStore } from './single-use-store.ts'
import { verifySolanaSignature } from './solana-signature.ts'

/** Limits the slow parsing of the EIP-4361 grammar to a few milliseconds. */
const MESSAGE_CHARACTERS_MAX = 1_500
const REMEMBERED_REFUSALS = { entriesMax: 5_000, lifetimeMs: 60_000 }
const FAMILIAR_WALLETS = { entriesMax: 50_000, lifetimeMs: 3_600_000 }
/** Rejections that may not apply at a later time. */
const PASSING: ReadonlySet<string | undefined> = new Set(['X402_SIGN_IN_FUTURE_TIMESTAMP', 'X402_SIGN_IN_NOT_BEFORE'])

export interface SignInDeps {
  origin: string
  nonces: SingleUseStore
  accounts: Pick<WalletAccounts, 'callerOf'>
  abuseGuard: Pick<AbuseGuard, 'assertNotBlocked' | 'blameAddress'>
  /** Null if contract wallets cannot sign in. */
  contractWallets: ContractWalletVerifier | null
  clock: Clock
}

interface Proof extends SignInPayload {
  wallet: WalletAddress
  text: string
  nonce: string
}

/**
 * Signs wallets in by one header (x402's SIGN-IN-WITH-X): EIP-4361 on Base, its Ed25519 variant on Solana. A header is
 * accepted only once, within 5 minutes of its `Issued At`. Cheap checks run first, then the signature, and the nonce
 * last, so that nobody can use up a wallet's nonce without its key.
 */
export class SignInService {
  readonly #deps: SignInDeps
  /** Keyed by the hash of the header, so that a repeated header costs only a hash. */
  readonly #refusals = new RecentCache<DomainError>(REMEMBERED_REFUSALS)
  /** Wallets that signed in from an address may continue when the address is blocked because of somebody else. */
  readonly #familiar = new RecentCache<true>(FAMILIAR_WALLETS)

  constructor(deps: SignInDeps) {
    this.#deps = deps
  }

  /**
   * Returns the wallet that signed the payload, with its account. Fails with `sign_in_refused`, with `abuse_blocked`
   * while the wallet or, for rejected payloads, the address is blocked, and with `unavailable` if the nonce cannot be
   * claimed.
   */
  async signIn(payload: string, remoteAddress: string): Promise<WalletCaller> {
    const wallet = await this.#proveOrBlame(payload, remoteAddress, null)
    return this.#deps.accounts.callerOf(wallet)
  }

  /** Returns the wallet that signed a link to this account; fails like `signIn`. */
  async proveLink(payload: string, remoteAddress: string, accountId: string): Promise<WalletAddress> {
    return this.#proveOrBlame(payload, remoteAddress, accountId)
  }

  async #proveOrBlame(payload: string, remoteAddress: string, linkTo: string | null): Promise<WalletAddress> {
    const { abuseGuard } = this.#deps
    const wallet = await this.#prove(payload, remoteAddress, linkTo).catch((error: unknown) => {
      abuseGuard.blameAddress(remoteAddress, error)
      throw error
    })
    abuseGuard.assertNotBlocked(`wallet:${wallet.address}`)
    return wallet
  }

  async #prove(payload: string, remoteAddress: string, linkTo: string | null): Promise<WalletAddress> {
    // A payload rejected for one purpose may be valid for the other.
    const hash = payload.length > PAYLOAD_CHARACTERS_MAX ? undefined : hashOf(`${linkTo ?? ''}:${payload}`)
    const before = hash === undefined ? undefined : this.#refusals.get(hash)
    if (before !== undefined) throw before
    try {
      const proof = await this.#read(payload, linkTo)
      await this.#verifySignature(proof, remoteAddress)
      await this.#claimNonce(proof)
      this.#familiar.set(familiarity(proof.wallet, remoteAddress), true)
      if (hash !== undefined) this.#refusals.set(hash, nonceReused())
      return proof.wallet
    } catch (error) {
      const isLasting =
        error instanceof DomainError && error.code === 'sign_in_refused' && !PASSING.has(error.publicCode)
      if (hash !== undefined && isLasting) this.#refusals.set(hash, error)
      throw error
    }
  }

  async #read(payload: string, linkTo: string | null): Promise<Proof> {
    const read = readSignInPayload(payload)
    const wallet = parseWalletAddress(read.address)
    if (wallet === undefined) {
      throw signInRefused('INVALID_WALLET', 'address must be 0x and 40 hexadecimal digits, or a Solana key in Base58')
    }
    const text =
      'text' in read.signed ? read.signed.text : formatSignInMessage(await rebuilt(read.signed.fields, wallet))
    if (text.length > MESSAGE_CHARACTERS_MAX) {
      const reason = `the signed text has ${text.length} characters, more than the ${MESSAGE_CHARACTERS_MAX} allowed`
      throw signInRefused('INVALID_MESSAGE', reason)
    }
    const message = parseSignInMessage(text)
    if (message === undefined) {
      throw signInRefused('PARSE_ERROR', 'the lines of the message do not follow the layout of EIP-4361')
    }
    if (message.chain !== wallet.chain || (read.chain !== null && read.chain !== wallet.chain)) {
      throw signInRefused(
        'CHAIN_MISMATCH',
        'address, chainId, type and the signed text do not belong to the same chain',
      )
    }
    const named = parseWalletAddress(message.address)
    if (named === undefined) throw signInRefused('INVALID_WALLET', 'the signed text has no wallet address')
    if (named.address !== wallet.address) {
      throw signInRefused('ADDRESS_MISMATCH', 'address is not the one in the signed text')
    }
    const nonce = checkSignInMessage(message, {
      origin: this.#deps.origin,
      nowMs: this.#deps.clock.nowMs(),
    })
    checkTimestamp(message, read.timestampMs)
    checkPurpose(message, { origin: this.#deps.origin, linkTo })
    return { ...read, wallet, text, nonce }
  }

  async #verifySignature({ wallet, text, signature }: Proof, remoteAddress: string): Promise<void> {
    // Verifying signatures is expensive, so it is skipped for an address that was blocked for wrong ones.
    if (!this.#familiar.has(familiarity(wallet, remoteAddress)))
      this.#deps.abuseGuard.assertNotBlocked(`ip:${remoteAddress}`)
    const signed = { address: wallet.address, text, signature, clientAddress: remoteAddress }
    if (wallet.chain === 'solana') verifySolanaSignature(signed)
    else await verifyEvmSignature(signed, this.#deps.contractWallets)
  }

  async #claimNonce({ wallet, nonce }: Proof): Promise<void> {
    const key = `sign-in:${wallet.chain}:${wallet.address}:${nonce}`
    const claimed = await this.#deps.nonces.claim(key, NONCE_KEPT_MS).catch((cause: unknown) => {
      throw new DomainError('unavailable', 'Wallet sign-in is temporarily unavailable; sign a new message shortly', {
        retryAfterSeconds: 1,
        cause,
      })
    })
    if (!claimed) throw nonceReused()
  }
}

/** Wallets sign their address in mixed case, which the payload may have lost. */
async function rebuilt(fields: SignInMessage, wallet: WalletAddress): Promise<SignInMessage> {
  return { ...fields, address: wallet.chain === 'evm' ? await checksummed(wallet.address) : wallet.address }
}

function familiarity({ address }: WalletAddress, remoteAddress: string): string {
  return `${networkOf(remoteAddress)} ${address}`
}

function hashOf(payload: string): string {
  return createHash('sha256').update(payload).digest('base64')
}

function nonceReused(): DomainError {
  return signInRefused('NONCE_REUSED', 'this nonce was already used; sign a new message for each request')
}
