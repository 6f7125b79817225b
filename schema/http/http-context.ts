import type { IncomingMessage, ServerResponse } from 'node:http'
import type { YogaInitialContext } from 'graphql-yoga'
import type { Services } from '../../server/domain/services.ts'
import type { GraphQLContext } from '../context.ts'
import { authenticate } from '../credentials.ts'
import { admitOperation } from './operation-limits/admit-operation.ts'

/** The source of an operation's context: an HTTP request, or the finished context of a socket. */
export interface OperationSource {
  req?: IncomingMessage
  res?: ServerResponse
  requestId?: string
  /** The body was not read completely; the operation is rejected. */
  isBodyTooLarge?: boolean
  socketContext?: GraphQLContext
}

/** The context of one operation, after admission by the rate window of its account. */
export async function createContext(
  source: YogaInitialContext & OperationSource,
  services: Services,
): Promise<GraphQLContext> {
  const context = source.socketContext ?? (await createHttpContext(source, services))
  await admitOperation(context, source.res)
  return context
}

/** The caller is null if the request has no credential. Fails if its credential is wrong. */
async function createHttpContext(
  { request, req, requestId }: YogaInitialContext & OperationSource,
  services: Services,
): Promise<GraphQLContext> {
  const lifetime = new AbortController()
  request.signal.addEventListener('abort', () => lifetime.abort(), { once: true })
  const credential = {
    authorization: request.headers.get('authorization') ?? undefined,
    signIn: request.headers.get('sign-in-with-x') ?? request.headers.get('x-sign-in-with-x') ?? undefined,
    remoteAddress: req === undefined ? '' : services.clientAddresses.of(req),
  }
  const identity = await authenticate(credential, services)
  return {
    services,
    requestId: requestId ?? services.ids.requestId(),
    caller: identity?.caller ?? null,
    lifetime,
    transport: { kind: 'http', identity, remoteAddress: credential.remoteAddress },
  }
}
