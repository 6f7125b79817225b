import type { ExecutionArgs, FormattedExecutionResult, GraphQLError, GraphQLFormattedError } from 'graphql'
import { type Context, type OperationResult, type ServerOptions, type SubscribePayload } from 'graphql-ws'
import type { Services } from '../../../server/domain/services.ts'
import type { GraphQLContext } from '../../context.ts'
import { refusal, toClientError } from '../../errors.ts'
import type { GraphqlLimits } from '../limits.ts'
import type { Yoga } from '../yoga.ts'
import type { SocketSession } from './socket-session.ts'

export interface SocketExtra {
  session: SocketSession
}

type SocketContext = Context<Record<string, unknown>, SocketExtra>
type ResultOnSocket = Parameters<NonNullable<SocketServerOptions['onNext']>>[4]
type SocketServerOptions = ServerOptions<Record<string, unknown>, SocketExtra>

interface SocketOperationParts {
  yoga: Yoga
  services: Services
  limits: GraphqlLimits
}

/** Sockets parse, limit, execute and mask their operations with the same plugins as HTTP. */
export function createSocketOptions({ yoga, services, limits }: SocketOperationParts): SocketServerOptions {
  const { execute, subscribe } = yoga.getEnveloped({})
  return {
    connectionInitWaitTimeout: limits.socketInitTimeoutMs,
    onConnect: ({ extra, connectionParams }) => extra.session.open(connectionParams),
    onClose: ({ extra }) => extra.session.end(),
    execute: (args) => execute(args) as OperationResult,
    subscribe: (args) => subscribe(args) as OperationResult,
    async onSubscribe(socketContext, _id, payload) {
      const context = createOperationContext(socketContext, services)
      try {
        assertWithinSocket(socketContext, limits)
        return await prepare(payload, context, yoga)
      } catch (error) {
        return [toClientError(error, { log: services.log, requestId: context.requestId })]
      }
    },
    onNext: (...[, , , , result]) => formatResult(result),
    onError: (...[, , , errors]) => errors.map(formatError),
  }
}

function createOperationContext({ extra }: SocketContext, services: Services): GraphQLContext {
  return {
    services,
    requestId: services.ids.requestId(),
    caller: extra.session.caller,
    lifetime: new AbortController(),
    transport: { kind: 'socket', remoteAddress: extra.session.remoteAddress },
  }
}

function assertWithinSocket(
  { subscriptions, extra }: SocketContext,
  { subscriptionsPerSocketMax }: GraphqlLimits,
): void {
  if (Object.keys(subscriptions).length <= subscriptionsPerSocketMax) return
  extra.session.operationRefused()
  const message = `A socket can run at most ${subscriptionsPerSocketMax} operations at a time; complete one first`
  throw refusal('TOO_MANY_SUBSCRIPTIONS', message)
}

async function prepare(
  { query, operationName, variables }: SubscribePayload,
  socketContext: GraphQLContext,
  yoga: Yoga,
): Promise<ExecutionArgs | readonly GraphQLError[]> {
  const enveloped = yoga.getEnveloped({ socketContext })
  const document = enveloped.parse(query)
  const errors: readonly GraphQLError[] = enveloped.validate(enveloped.schema, document)
  if (errors.length > 0) return errors
  return {
    schema: enveloped.schema,
    document,
    operationName,
    variableValues: variables,
    contextValue: await enveloped.contextFactory(),
  }
}

function formatResult({ data, errors, extensions }: ResultOnSocket): FormattedExecutionResult {
  return {
    ...(data === undefined ? {} : { data }),
    ...(errors === undefined ? {} : { errors: errors.map(formatError) }),
    ...(extensions === undefined ? {} : { extensions }),
  }
}

/** An HTTP status means nothing on a socket. */
function formatError(error: GraphQLError): GraphQLFormattedError {
  const { extensions: { http: _http, ...extensions } = {}, ...formatted } = error.toJSON()
  return { ...formatted, extensions }
}
