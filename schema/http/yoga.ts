import { createYoga, type Plugin } from 'graphql-yoga'
import type { Log } from '../../server/domain/log.ts'
import type { Services } from '../../server/domain/services.ts'
import type { GraphQLContext } from '../context.ts'
import { refusal, toClientError } from '../errors.ts'
import { schema } from '../index.ts'
import { createDocumentCache } from './document-cache.ts'
import { useGraphiql } from './graphiql.ts'
import { createContext, type OperationSource } from './http-context.ts'
import type { GraphqlLimits } from './limits.ts'
import type { ConnectionSlots } from './live/connection-slots.ts'
import type { OpenStreams } from './live/open-streams.ts'
import { useLiveResults } from './live/use-live-results.ts'
import { useSharedEvents } from './live/use-shared-events.ts'
import { WINDOW_HEADERS } from './operation-limits/admit-operation.ts'
import { useOperationLimits } from './operation-limits/use-operation-limits.ts'
import type { OriginPolicy } from './origins.ts'
import { useClientErrors } from './use-client-errors.ts'

const PREFLIGHT_SECONDS = 600

export interface YogaParts {
  services: Services
  log: Log
  limits: GraphqlLimits
  origins: OriginPolicy
  slots: ConnectionSlots
  open: OpenStreams
  /** GraphiQL, for development. */
  playground: boolean
}

export type Yoga = ReturnType<typeof createGraphqlYoga>

/** GraphQL over HTTP and event streams; sockets run their operations through the same plugins. */
export function createGraphqlYoga({ services, log, limits, origins, slots, open, playground }: YogaParts) {
  return createYoga<OperationSource, GraphQLContext>({
    schema,
    context: (source) => createContext(source, services),
    plugins: [
      ...(playground ? [useGraphiql(services.ids)] : []),
      useBodyRules(limits),
      useSharedEvents(),
      useOperationLimits(limits),
      useLiveResults({ slots, open }),
      useClientErrors(),
    ],
    // The last resort for failures outside an operation, such as a wrong credential.
    maskedErrors: { maskError: (error) => toClientError(error, { log }) },
    cors: (request) => {
      const origin = request.headers.get('origin')
      if (origin === null || !origins.allows(origin)) return false
      return {
        origin: [origin],
        credentials: false,
        methods: ['GET', 'POST', 'OPTIONS'],
        // `*` covers headers that clients add about themselves, but never Authorization.
        allowedHeaders: ['Authorization', 'Content-Type', 'Accept', 'SIGN-IN-WITH-X', 'X-Sign-In-With-X', '*'],
        exposedHeaders: ['CF-RAY', 'Retry-After', ...Object.values(WINDOW_HEADERS)],
        maxAge: PREFLIGHT_SECONDS,
      }
    },
    parserAndValidationCache: createDocumentCache(),
    maxRequestBodySize: false,
    batching: false,
    multipart: false,
    // Yoga's page loads from another host; ours does not.
    graphiql: false,
    landingPage: false,
    logging: false,
  })
}

/** Browsers send forms and plain text across origins without a preflight, so only JSON is read. */
function useBodyRules({ bodyBytesMax }: GraphqlLimits): Plugin<object, OperationSource> {
  return {
    onRequestParse({ request, serverContext }) {
      if (request.method !== 'POST') return
      if (serverContext.isBodyTooLarge === true) {
        const message = `The request body is larger than the maximum of ${bodyBytesMax} bytes; send less in one request`
        throw refusal('PAYLOAD_TOO_LARGE', message, { status: 413, spec: false })
      }
      const [mediaType = ''] = (request.headers.get('content-type') ?? '').split(';')
      if (mediaType.trim().toLowerCase() === 'application/json') return
      const message = 'Send the operation as JSON, with "Content-Type: application/json"'
      throw refusal('UNSUPPORTED_MEDIA_TYPE', message, { status: 415, spec: false })
    },
  }
}
