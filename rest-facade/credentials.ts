import type { IncomingMessage } from 'node:http'
import type { Caller } from '../server/domain/auth/caller.ts'
import { DomainError } from '../server/domain/errors.ts'
import type { Services } from '../server/domain/services.ts'
import type { Access } from './route.ts'

const BEARER = /^Bearer +(\S+)\s*$/i

/** Who sends the request, as far as the route's access asks. Fails with `unauthenticated` or `admin_key_required`. */
export async function identify(request: IncomingMessage, access: Access, services: Services): Promise<Caller | null> {
  if (access === 'public') return null
  const header = request.headers.authorization
  if (header === undefined && access === 'optional') return null
  if (header === undefined) {
    throw new DomainError(
      'unauthenticated',
      'Authentication failed: send the header "Authorization: Bearer <API_KEY>" with a key of this service',
    )
  }
  const address = request.socket.remoteAddress ?? ''
  const caller = await authenticate(header, services, address)
  services.abuseGuard.assertNotBlocked(`key:${caller.keyId}`)
  if (access === 'admin') services.auth.requireAdmin(caller)
  return caller
}

async function authenticate(header: string, services: Services, address: string) {
  try {
    const secret = BEARER.exec(header)?.[1]
    if (secret === undefined) {
      throw new DomainError(
        'unauthenticated',
        'Authentication failed: the Authorization header is not of the form "Bearer <API_KEY>"',
      )
    }
    return await services.auth.authenticateKey(secret)
  } catch (error) {
    // Whoever guesses keys blocks only wrong keys from his address, never the owner of a key behind the same address.
    if (error instanceof DomainError && error.code === 'unauthenticated') {
      services.abuseGuard.assertNotBlocked(`ip:${address}`)
      services.abuseGuard.recordFailure(`ip:${address}`)
    }
    throw error
  }
}
