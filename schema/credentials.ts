import type { KeyCaller } from '../server/domain/auth/caller.ts'
import { DomainError } from '../server/domain/errors.ts'
import type { Services } from '../server/domain/services.ts'

const BEARER = /^Bearer +(\S+) *$/i

export interface Credential {
  /** The Authorization header, or the field of that name in a socket's connection parameters. */
  authorization: string
  remoteAddress: string
}

/** The caller that a credential stands for. Fails with `unauthenticated`, or `abuse_blocked` while its key or, for a wrong one, its address is blocked. */
export async function authenticate(credential: Credential, services: Services): Promise<KeyCaller> {
  const caller = await identify(credential, services)
  services.abuseGuard.assertNotBlocked(`key:${caller.keyId}`)
  return caller
}

async function identify(
  { authorization, remoteAddress }: Credential,
  { auth, abuseGuard }: Services,
): Promise<KeyCaller> {
  try {
    return await auth.authenticateKey(readSecret(authorization))
  } catch (error) {
    // Whoever guesses keys blocks only wrong keys from his address, never the owner of a key behind the same address.
    if (error instanceof DomainError && error.code === 'unauthenticated') {
      abuseGuard.assertNotBlocked(`ip:${remoteAddress}`)
      abuseGuard.recordFailure(`ip:${remoteAddress}`)
    }
    throw error
  }
}

export function readSecret(authorization: string): string {
  const secret = BEARER.exec(authorization)?.[1]
  if (secret !== undefined) return secret
  throw new DomainError(
    'unauthenticated',
    'Authentication failed: the credential is not of the form "Bearer <API_KEY>"',
  )
}
