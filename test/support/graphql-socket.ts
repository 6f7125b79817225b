import { once } from 'node:events'
import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import { type ClientOptions, WebSocket } from 'ws'

export interface SocketMessage {
  type: string
  id?: string
  payload?: unknown
}

export interface GraphqlSocketOptions extends ClientOptions {
  protocol?: string
}

/** A bare client of graphql-transport-ws, so that tests see every message and closing code. */
export class GraphqlSocket {
  readonly webSocket: WebSocket
  readonly #messages: SocketMessage[] = []
  #wake: () => void = () => {}
  /** Code and reason, once the socket is closed. */
  readonly closed: Promise<{ code: number; reason: string }>

  constructor(url: string, { protocol = GRAPHQL_TRANSPORT_WS_PROTOCOL, ...options }: GraphqlSocketOptions = {}) {
    this.webSocket = new WebSocket(url, protocol, options)
    this.webSocket.on('message', (data) => {
      this.#messages.push(JSON.parse((data as Buffer).toString('utf8')))
      this.#wake()
    })
    this.closed = new Promise((resolve) => {
      this.webSocket.once('close', (code, reason) => {
        resolve({ code, reason: String(reason) })
        this.#wake()
      })
    })
    this.webSocket.on('error', () => {})
  }

  /** Opens a socket and, with a key, has it acknowledged. */
  static async open(url: string, key?: string): Promise<GraphqlSocket> {
    const socket = new GraphqlSocket(url)
    await once(socket.webSocket, 'open')
    if (key === undefined) return socket
    socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })
    const { type } = await socket.next()
    if (type !== 'connection_ack') throw new Error(`${type} in place of connection_ack`)
    return socket
  }

  send(message: SocketMessage): void {
    this.webSocket.send(JSON.stringify(message))
  }

  subscribe(id: string, query: string): void {
    this.send({ type: 'subscribe', id, payload: { query } })
  }

  /** The next message, in order of arrival; fails when the socket closes instead. */
  async next(): Promise<SocketMessage> {
    for (;;) {
      const message = this.#messages.shift()
      if (message !== undefined) return message
      if (this.webSocket.readyState === WebSocket.CLOSED) throw new Error('the socket is closed')
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  async close(): Promise<void> {
    this.webSocket.close()
    await this.closed
  }
}
