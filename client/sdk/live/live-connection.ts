import { ConnectionError, type SluiceError } from '../errors.ts'
import { toAborted } from '../http/attempt.ts'
import { toApiError } from '../http/error-body.ts'
import { backOffMs } from '../http/retry-policy.ts'
import { FINAL_CLOSES, PROTOCOL, readMessage, type ServerMessage } from './live-protocol.ts'
import { Subscription, type SubscriptionPlan } from './subscription.ts'
import type { WebSocketClass, WebSocketLike } from './web-socket.ts'

/** Consecutive attempts that may fail after a first connection: some four minutes. */
const RECONNECTS_MAX = 30
/** How long a connection may take to be acknowledged. */
const ACKNOWLEDGE_MS_MAX = 15_000
const OPEN = 1

export interface LiveSettings {
  url: string
  webSocket: WebSocketClass | undefined
  /** Retries before the first connection. */
  maxRetries: number
  /** Payload of `connection_init`, with the credential. */
  toInitPayload: () => Promise<Record<string, unknown>>
  wait: (milliseconds: number) => Promise<void>
}

/**
 * All subscriptions of a client over one socket (graphql-transport-ws). The socket opens with the first of them and
 * closes with the last; after a lost connection it reopens, and each subscription continues after its last event.
 */
export class LiveConnection {
  readonly #settings: LiveSettings
  /** By their ids on the current socket. */
  readonly #active = new Map<string, Subscription<unknown>>()
  readonly #subscriptions = new Set<Subscription<unknown>>()
  #socket: WebSocketLike | undefined
  #acknowledged = false
  #connectedOnce = false
  #failures = 0
  #nextId = 1
  #running = false

  constructor(settings: LiveSettings) {
    this.#settings = settings
  }

  subscribe<Event>(plan: SubscriptionPlan<Event>, signal: AbortSignal | undefined): AsyncIterableIterator<Event> {
    const end = (error: SluiceError | null): void => {
      subscription.finish(error)
      signal?.removeEventListener('abort', abort)
      this.#drop(subscription)
    }
    const abort = (): void => end(toAborted(signal))
    const subscription: Subscription<Event> = new Subscription(plan, {
      onDrained: () => this.#begin(subscription),
      onLeft: () => end(null),
    })
    if (signal?.aborted === true) {
      subscription.finish(toAborted(signal))
      return subscription
    }
    signal?.addEventListener('abort', abort, { once: true })
    this.#subscriptions.add(subscription)
    if (this.#acknowledged) this.#begin(subscription)
    else if (!this.#running) void this.#run()
    return subscription
  }

  /** Keeps a socket open while there is a subscription. */
  async #run(): Promise<void> {
    this.#running = true
    this.#connectedOnce = false
    this.#failures = 0
    while (this.#subscriptions.size > 0) {
      const error = await this.#connect()
      if (this.#subscriptions.size === 0) break
      const triesMax = this.#connectedOnce ? RECONNECTS_MAX : this.#settings.maxRetries
      if (!(error instanceof ConnectionError) || this.#failures > triesMax) {
        for (const subscription of this.#subscriptions) subscription.finish(error)
        this.#subscriptions.clear()
        break
      }
      await this.#settings.wait(backOffMs(Math.max(0, this.#failures - 1)))
    }
    this.#running = false
  }

  /** One connection from its opening to its end; returns the error that ended it. */
  async #connect(): Promise<SluiceError> {
    this.#failures++
    try {
      const payload = await this.#settings.toInitPayload()
      if (this.#subscriptions.size === 0) return new ConnectionError('There are no subscriptions left')
      const SocketClass: WebSocketClass = this.#settings.webSocket ?? globalThis.WebSocket
      const socket = new SocketClass(this.#settings.url, PROTOCOL)
      this.#socket = socket
      return await new Promise((resolve) => {
        const timer = setTimeout(() => socket.close(), ACKNOWLEDGE_MS_MAX)
        socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload })))
        socket.addEventListener('message', ({ data }) => {
          const message = readMessage(data)
          if (message?.type === 'connection_ack') clearTimeout(timer)
          if (message !== undefined) this.#receive(message, socket)
        })
        socket.addEventListener('error', () => {})
        socket.addEventListener('close', ({ code, reason }) => {
          clearTimeout(timer)
          resolve(toCloseError({ code, reason, wasAcknowledged: this.#acknowledged }))
        })
      })
    } catch (error) {
      return new ConnectionError('The socket could not be opened', { cause: error })
    } finally {
      this.#socket = undefined
      this.#acknowledged = false
      this.#active.clear()
    }
  }

  #receive({ type, id, payload }: ServerMessage, socket: WebSocketLike): void {
    if (type === 'ping') socket.send(JSON.stringify({ type: 'pong' }))
    if (type === 'connection_ack') {
      this.#acknowledged = true
      this.#connectedOnce = true
      this.#failures = 0
      for (const subscription of this.#subscriptions) this.#begin(subscription)
    }
    const subscription = id === undefined ? undefined : this.#active.get(id)
    if (subscription === undefined) return
    if (type === 'next') {
      subscription.push(payload)
      if (subscription.isPaused) this.#stop(subscription)
    } else if (type === 'error' || type === 'complete') {
      subscription.finish(type === 'error' ? toApiError({ errors: payload }, 200, null) : null)
      this.#drop(subscription)
    }
  }

  #begin(subscription: Subscription<unknown>): void {
    if (!this.#acknowledged || !this.#subscriptions.has(subscription)) return
    const id = String(this.#nextId++)
    this.#active.set(id, subscription)
    this.#send({ type: 'subscribe', id, payload: subscription.toPayload() })
  }

  /** Stops the events without ending the subscription for its reader. */
  #stop(subscription: Subscription<unknown>): void {
    for (const [id, active] of this.#active) {
      if (active !== subscription) continue
      this.#active.delete(id)
      this.#send({ type: 'complete', id })
    }
  }

  #drop(subscription: Subscription<unknown>): void {
    this.#stop(subscription)
    this.#subscriptions.delete(subscription)
    if (this.#subscriptions.size === 0) this.#socket?.close(1000, 'done')
  }

  #send(message: object): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify(message))
  }
}

function toCloseError(close: { code: number; reason: string; wasAcknowledged: boolean }): SluiceError {
  const { code, reason, wasAcknowledged } = close
  const message = reason === '' ? `The socket was closed with code ${code}` : reason
  const status = FINAL_CLOSES[code]
  // A credential that ended may have been replaced, as sessions of wallets are.
  if (status === undefined || (status === 401 && wasAcknowledged)) return new ConnectionError(message)
  const extensions = { code: status === 401 ? 'UNAUTHENTICATED' : 'BAD_USER_INPUT' }
  return toApiError({ errors: [{ message, extensions }] }, status, null)
}
