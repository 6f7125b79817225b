import type { Caller, RequestContext } from '../server/domain/caller.ts'
import { DomainError } from '../server/domain/errors.ts'
import type { Services } from '../server/domain/services.ts'
import type { Identity } from './credentials.ts'

/** The context of one operation, over HTTP, as an event stream or over a socket. */
export interface GraphQLContext {
  services: Services
  requestId: string
  /** Null: no credential was sent. A wrong one is rejected earlier. */
  caller: Caller | null
  /** Aborted when the operation ends for any reason: the client disconnected, time ran out, the credential ended. */
  lifetime: AbortController
  transport: Transport
}

/** A socket's credential is watched once for all its operations, an event stream's individually. */
export type Transport =
  | { kind: 'socket'; remoteAddress: string }
  | { kind: 'http'; identity: Identity | null; remoteAddress: string }

/** The credentials to send, for any field. */
export const CREDENTIAL_MISSING =
  'This operation requires an API key or a wallet session: send "Authorization: Bearer <API_KEY>", or sign in with signInWithWallet'

/** The caller of a field that requires one. */
export function requireCaller({ caller }: GraphQLContext): Caller {
  if (caller === null) throw new DomainError('unauthenticated', CREDENTIAL_MISSING)
  return caller
}

/** Converts the context for services that act for a caller. */
export function toRequestContext(context: GraphQLContext): RequestContext {
  return { requestId: context.requestId, caller: requireCaller(context), signal: context.lifetime.signal }
}
