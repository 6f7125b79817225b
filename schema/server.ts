import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Log } from '../server/domain/log.ts'
import type { Services } from '../server/domain/services.ts'
import { GRAPHQL_LIMITS, type GraphqlLimits } from './limits.ts'
import { ConnectionSlots } from './live/connection-slots.ts'
import { OriginPolicy } from './origins.ts'
import { SocketServer } from './sockets/socket-server.ts'
import { createGraphqlYoga } from './yoga.ts'

export interface GraphqlServerOptions {
  services: Services
  log: Log
  /** Off in production: GraphiQL. */
  isProduction: boolean
  /** Origins of browser pages elsewhere that may call; `*` is all. */
  allowedOrigins: readonly string[]
  limits?: Partial<GraphqlLimits>
}

export interface GraphqlServer {
  /** Answers a request to `/graphql`. */
  handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Takes over a WebSocket upgrade of `/graphql`. */
  handleUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Ends event streams and closes sockets with 1001; requests that run may finish. */
  close: () => Promise<void>
}

/** The GraphQL front for one HTTP server: operations over HTTP, event streams and sockets at the same path. */
export function createGraphqlServer({
  services,
  log,
  isProduction,
  allowedOrigins,
  limits: ownLimits = {},
}: GraphqlServerOptions): GraphqlServer {
  const limits = { ...GRAPHQL_LIMITS, ...ownLimits }
  const slots = new ConnectionSlots(limits.connectionsPerKeyMax)
  const origins = new OriginPolicy(allowedOrigins)
  const openSubscriptions = new Set<AbortController>()
  const shared = { services, log, limits, origins, slots }
  const yoga = createGraphqlYoga({ ...shared, openSubscriptions, playground: !isProduction })
  const sockets = new SocketServer({ ...shared, yoga })
  return {
    handle(request, response) {
      const requestId = services.ids.requestId()
      response.setHeader('CF-RAY', requestId)
      response.setHeader('Vary', 'Origin')
      void yoga.handle(request, response, { requestId })
    },
    handleUpgrade: (request, socket, head) => sockets.handleUpgrade(request, socket, head),
    async close() {
      for (const lifetime of openSubscriptions) lifetime.abort()
      await sockets.close()
    },
  }
}
