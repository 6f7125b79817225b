import type { Caller } from '../server/domain/caller.ts'
import { DomainError } from '../server/domain/errors.ts'
import type { Services } from '../server/domain/services.ts'
import { WalletSessions } from '../server/domain/wallets/sign-in/wallet-session.ts'

const BEARER = /^Bearer +(\S+) *$/i

export interface Credential {
  /**
   * The Authorization header, or the field of that name in a socket's connection parameters: an API key or a wallet's
   * session.
   */
  authorization?: string | undefined
  /** The header SIGN-IN-WITH-X, or the field `signInWithX`. It takes precedence over `authorization`. */
  signIn?: string | undefined
  remoteAddress: string
}

/** The identity behind a credential, for as long as a connection lasts. */
export interface Identity {
  caller: Caller
  /** Name under which its connections and failures are counted. */
  subject: string
  /** When the credential ends, as far as known; null means never. Fails once it has ended. */
  check: () => Promise<Date | null>
}

/**
 * Null: no credential was sent. Fails with `unauthenticated`, `sign_in_refused`, or `abuse_blocked` while its key, its
 * wallet or, for a wrong credential, its address is blocked.
 */
export async function authenticate(credential: Credential, services: Services): Promise<Identity | null> {
  const { authorization, signIn, remoteAddress } = credential
  if (signIn !== undefined) return signInWallet(signIn, remoteAddress, services)
  if (authorization === undefined) return null
  const identity = await identify(authorization, services).catch((error: unknown) => {
    services.limits.abuseGuard.blameAddress(remoteAddress, error)
    throw error
  })
  services.limits.abuseGuard.assertNotBlocked(identity.subject)
  return identity
}

async function signInWallet(payload: string, remoteAddress: string, services: Services): Promise<Identity> {
  const caller = await services.wallets.signIn.signIn(payload, remoteAddress)
  const endsAt = services.wallets.sessions.expiry()
  const check = async (): Promise<Date> => {
    if (endsAt.getTime() <= services.clock.nowMs()) throw sessionEnded()
    const now = await services.wallets.accounts.callerOf({ chain: caller.walletChain, address: caller.walletAddress })
    assertSameAccount(caller, now)
    return endsAt
  }
  return { caller, subject: `wallet:${caller.walletAddress}`, check }
}

async function identify(
  authorization: string,
  { access: { auth }, wallets: { sessions: walletSessions } }: Services,
): Promise<Identity> {
  const secret = readSecret(authorization)
  if (WalletSessions.looksLikeToken(secret)) {
    const { caller } = await walletSessions.open(secret)
    const check = async (): Promise<Date> => {
      const session = await walletSessions.open(secret)
      assertSameAccount(caller, session.caller)
      return session.expiresAt
    }
    return { caller, subject: `wallet:${caller.walletAddress}`, check }
  }
  const caller = await auth.authenticateKey(secret)
  const check = async (): Promise<Date | null> => (await auth.authenticateKey(secret)).expiresAt
  return { caller, subject: `key:${caller.keyId}`, check }
}

function readSecret(authorization: string): string {
  const secret = BEARER.exec(authorization)?.[1]
  if (secret !== undefined) return secret
  throw new DomainError(
    'unauthenticated',
    'Authentication failed: the credential must have the form "Bearer <API_KEY>"',
  )
}

/** The data that a connection watches belongs to its first account. */
function assertSameAccount(before: Caller, now: Caller): void {
  if (before.accountId === now.accountId) return
  throw new DomainError(
    'unauthenticated',
    'The wallet was linked or unlinked and now uses another account; connect again',
  )
}

function sessionEnded(): DomainError {
  return new DomainError('unauthenticated', 'The wallet session has expired or was revoked; sign in again')
}
