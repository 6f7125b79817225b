import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { CloseCode, handleProtocols, makeServer, type Server } from 'graphql-ws'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import type { Log } from '../../../server/domain/log.ts'
import { networkOf } from '../../../server/domain/rate-limits/network-of.ts'
import type { Services } from '../../../server/domain/services.ts'
import type { GraphqlLimits } from '../limits.ts'
import type { ConnectionSlots } from '../live/connection-slots.ts'
import type { OriginPolicy } from '../origins.ts'
import type { Yoga } from '../yoga.ts'
import { createSocketOptions, type SocketExtra } from './socket-operations.ts'
import { type SocketOpening, SocketSession } from './socket-session.ts'

const GOING_AWAY = 1001
const TRY_AGAIN_LATER = 1013
/** How long a client may take to confirm the closing of its socket at a shutdown. */
const CLOSE_GRACE_MS = 1_000

interface SocketServerParts {
  yoga: Yoga
  services: Services
  log: Log
  limits: GraphqlLimits
  origins: OriginPolicy
  slots: ConnectionSlots
  /** By address, until a socket is authenticated. */
  initSlots: ConnectionSlots
  headerLines: string
}

/** GraphQL over WebSocket (graphql-transport-ws), on upgrades that the HTTP server hands over. */
export class SocketServer {
  readonly #parts: SocketServerParts
  readonly #webSockets: WebSocketServer
  readonly #graphql: Server<SocketExtra>

  constructor(parts: SocketServerParts) {
    this.#parts = parts
    this.#webSockets = new WebSocketServer({
      noServer: true,
      maxPayload: parts.limits.socketMessageBytesMax,
      handleProtocols,
    })
    // A handshake that violates RFC 6455.
    this.#webSockets.on('wsClientError', (_error, socket) => refuseUpgrade(socket, 400, parts.headerLines))
    this.#graphql = makeServer(createSocketOptions(parts))
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { headerLines } = this.#parts
    if (!this.#parts.origins.allowsUpgrade(request)) return refuseUpgrade(socket, 403, headerLines)
    const remoteAddress = this.#parts.services.clientAddresses.of(request)
    const initEnded = this.#parts.initSlots.take(networkOf(remoteAddress))
    if (initEnded === undefined) return refuseUpgrade(socket, 429, `Retry-After: 1\r\n${headerLines}`)
    socket.once('close', initEnded)
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      this.#serve(webSocket, { remoteAddress, initEnded })
    })
  }

  /** Asks every client to reconnect elsewhere, and waits until they have disconnected. */
  async close(): Promise<void> {
    const clients = [...this.#webSockets.clients]
    const gone = clients.map((client) => new Promise<void>((resolve) => client.once('close', () => resolve())))
    for (const client of clients) client.close(GOING_AWAY, 'Server is shutting down')
    const deadline = setTimeout(() => {
      for (const client of clients) client.terminate()
    }, CLOSE_GRACE_MS)
    await Promise.all(gone)
    clearTimeout(deadline)
    this.#webSockets.close()
  }

  #serve(socket: WebSocket, opening: SocketOpening): void {
    const { services, slots, limits, log } = this.#parts
    const session = new SocketSession({ socket, services, slots, limits, ...opening })
    // For example a message over the size limit; the socket then closes itself with the code for it.
    socket.on('error', (error) => log.info('a socket failed because of its client', { error }))
    const stopPinging = this.#keepAlive(socket)
    const closed = this.#graphql.opened(
      {
        protocol: socket.protocol,
        send: (text) => this.#send(socket, text),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) => socket.on('message', (data) => void this.#receive(socket, toText(data), handle)),
      },
      { session },
    )
    socket.once('close', (code, reason) => {
      stopPinging()
      void closed(code, String(reason))
    })
  }

  async #receive(socket: WebSocket, text: string, handle: (text: string) => Promise<void>): Promise<void> {
    try {
      await handle(text)
    } catch (error) {
      // A client that disconnects during an operation is not a failure.
      if (socket.readyState !== socket.OPEN) return
      this.#parts.log.error('a socket message could not be handled', { error })
      socket.close(CloseCode.InternalServerError, 'Internal server error')
    }
  }

  /** Resolves when the bytes have left the process, so each subscription waits for its reader. */
  #send(socket: WebSocket, text: string): Promise<void> {
    if (socket.readyState !== socket.OPEN) return Promise.resolve()
    if (socket.bufferedAmount > this.#parts.limits.socketUnreadBytesMax) {
      closeSlow(socket)
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      socket.send(text, (error) => (error ? reject(error) : resolve()))
    })
  }

  /**
   * A client that answers no ping within one interval is gone, whatever TCP assumes; one that has not read its data
   * either gets the reason, in case it reads on.
   */
  #keepAlive(socket: WebSocket): () => void {
    let answered = true
    socket.on('pong', () => {
      answered = true
    })
    const pings = setInterval(() => {
      if (!answered) return socket.bufferedAmount > 0 ? closeSlow(socket) : socket.terminate()
      answered = false
      socket.ping()
    }, this.#parts.limits.socketPingIntervalMs)
    return () => clearInterval(pings)
  }
}

function closeSlow(socket: WebSocket): void {
  socket.close(TRY_AGAIN_LATER, 'Client reads too slowly')
}

function refuseUpgrade(socket: Duplex, status: 400 | 403 | 429, headerLines: string): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headerLines}`
  socket.end(`${head}Connection: close\r\nContent-Length: 0\r\n\r\n`)
}

function toText(data: RawData): string {
  return Array.isArray(data) ? Buffer.concat(data).toString('utf8') : Buffer.from(data as Buffer).toString('utf8')
}
