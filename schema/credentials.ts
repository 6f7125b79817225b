import type { KeyCaller } from '../server/domain/auth/caller.ts'
import { DomainError } from '../server/domain/errors.ts'
import type { Services } from '../server/domain/services.ts'

const BEARER = /^Bearer +(\S+) *$/i

export interface Credential {
  /** The Authorization header, or the field of that name in a socket's connection parameters. */
  authorization: string
  remoteAddress: string
}

/** The caller that a credential stands for. Fails with `unauthenticated`, or `abuse_blocked` while its key or address is blocked. */
export async function authenticate(credential: Credential, services: Services): Promise<KeyCaller> {
  const { abuseGuard } = services
  const address = `ip:${credential.remoteAddress}`
  abuseGuard.assertNotBlocked(address)
  try {
    const caller = await services.auth.authenticateKey(readSecret(credential.authorization))
    abuseGuard.assertNotBlocked(`key:${caller.keyId}`)
    return caller
  } catch (error) {
    // Whoever guesses keys blocks only the address that guesses, never the owner of a key.
    if (error instanceof DomainError && error.code === 'unauthenticated') abuseGuard.recordFailure(address)
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
