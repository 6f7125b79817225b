import type { IncomingMessage } from 'node:http'
import type { Caller, WalletCaller } from '../server/domain/caller.ts'
import { DomainError } from '../server/domain/errors.ts'
import type { Services } from '../server/domain/services.ts'
import type { Incoming } from './begin-exchange.ts'
import type { Access, Route } from './route.ts'

const BEARER = /^Bearer +(\S+)\s*$/i

/**
 * Identifies the caller, as far as the route's access requires. If wallets are served, a wallet's signature takes
 * precedence over a key; otherwise it is ignored. Fails with `unauthenticated`, `sign_in_required`, `sign_in_refused`
 * or, while the wallet is blocked, `abuse_blocked`.
 */
export async function identify(request: IncomingMessage, access: Access, services: Services): Promise<Caller | null> {
  if (access === 'public') return null
  const address = services.clientAddresses.of(request)
  const signIn = access === 'inference' || access === 'wallet' ? signInOf(request) : undefined
  if (signIn !== undefined) return services.wallets.signIn.signIn(signIn, address)
  const header = access === 'wallet' ? undefined : request.headers.authorization
  if (header === undefined && access === 'optional') return null
  if (header === undefined) throw credentialMissing(access, services)
  return authenticate(header, services, address)
}

/** Checks the part of a route's access that depends on the caller: an ADMIN key, or the wallet in the path. */
export function authorize(caller: Caller, { access }: Route, { services, target }: Incoming): void {
  if (access === 'admin') services.access.auth.requireAdmin(caller)
  if (access === 'wallet')
    services.wallets.statements.assertOwn(requireWallet(caller), target.params['walletAddress'] ?? '')
}

/** The caller of a route for wallets. */
export function requireWallet(caller: Caller): WalletCaller {
  if (caller.kind === 'wallet') return caller
  throw new DomainError('unauthenticated', 'Authentication failed: this operation requires the header SIGN-IN-WITH-X')
}

function signInOf({ headers }: IncomingMessage): string | undefined {
  const header = headers['sign-in-with-x'] ?? headers['x-sign-in-with-x']
  return Array.isArray(header) ? header.join() : header
}

function credentialMissing(access: Access, { payments: { options: paymentOptions } }: Services): DomainError {
  const key = 'send the header "Authorization: Bearer <API_KEY>" with a key of this service'
  const wallet = 'send the header SIGN-IN-WITH-X, signed by your wallet'
  if (access === 'wallet') return new DomainError('sign_in_required', `Authentication failed: ${wallet}`)
  if (access === 'inference' && paymentOptions.available) {
    return new DomainError('sign_in_required', `Authentication failed: ${key}, or ${wallet}`)
  }
  return new DomainError('unauthenticated', `Authentication failed: ${key}`)
}

async function authenticate(header: string, services: Services, address: string) {
  try {
    const secret = BEARER.exec(header)?.[1]
    if (secret === undefined) {
      throw new DomainError(
        'unauthenticated',
        'Authentication failed: the Authorization header must have the form "Bearer <API_KEY>"',
      )
    }
    return await services.access.auth.authenticateKey(secret)
  } catch (error) {
    services.limits.abuseGuard.blameAddress(address, error)
    throw error
  }
}
