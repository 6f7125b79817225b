import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import type { Log } from '../../server/domain/log.ts'
import type { Services } from '../../server/domain/services.ts'
import { GRAPHQL_LIMITS, type GraphqlLimits } from './limits.ts'
import { ConnectionSlots } from './live/connection-slots.ts'
import { OpenStreams } from './live/open-streams.ts'
import { OriginPolicy } from './origins.ts'
import { readRequestBody } from './request-body.ts'
import { SocketServer } from './sockets/socket-server.ts'
import { createGraphqlYoga } from './yoga.ts'

export interface GraphqlServerOptions {
  services: Services
  log: Log
  /** Disables GraphiQL. */
  isProduction: boolean
  /** Other browser origins that may call; `*` allows all. */
  allowedOrigins: readonly string[]
  limits?: Partial<GraphqlLimits>
  /** Header lines of every rejected upgrade, each with its line break. */
  headerLines?: string
}

export interface GraphqlServer {
  /** Serves a request to `/graphql`. */
  handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Takes over a WebSocket upgrade of `/graphql`. */
  handleUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Ends event streams and closes sockets with 1001; running requests may finish. */
  close: () => Promise<void>
}

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  requestId: string
}

/** The GraphQL front for one HTTP server: operations over HTTP, event streams and sockets at the same path. */
export function createGraphqlServer({
  services,
  log,
  isProduction,
  allowedOrigins,
  limits: ownLimits = {},
  headerLines = '',
}: GraphqlServerOptions): GraphqlServer {
  const limits = { ...GRAPHQL_LIMITS, ...ownLimits }
  const slots = new ConnectionSlots(limits.connectionsPerKeyMax)
  const origins = new OriginPolicy(allowedOrigins)
  const open = new OpenStreams()
  const shared = { services, log, limits, origins, slots }
  const yoga = createGraphqlYoga({ ...shared, open, playground: !isProduction })
  const initSlots = new ConnectionSlots(limits.socketsInInitPerAddressMax)
  const sockets = new SocketServer({ ...shared, initSlots, yoga, headerLines })
  const answer = async ({ request, response, requestId }: Exchange): Promise<void> => {
    if (request.method !== 'POST') return yoga.handle(request, response, { requestId })
    const body = await readRequestBody(request, limits.bodyBytesMax)
    if (body.kind === 'cut_off') return
    const bytes = body.kind === 'whole' ? body.bytes : Buffer.alloc(0)
    const read = Object.assign(request, { body: Readable.from([bytes]) })
    return yoga.handle(read, response, { requestId, isBodyTooLarge: body.kind === 'too_large' })
  }
  return {
    handle(request, response) {
      const requestId = services.ids.requestId()
      response.setHeader('CF-RAY', requestId)
      response.setHeader('X-Request-ID', requestId)
      response.setHeader('Vary', 'Origin')
      answer({ request, response, requestId }).catch((error: unknown) => {
        log.warn('a graphql response could not be sent', { requestId, error })
        response.destroy()
      })
    },
    handleUpgrade: (request, socket, head) => sockets.handleUpgrade(request, socket, head),
    async close() {
      open.close()
      await sockets.close()
    },
  }
}
