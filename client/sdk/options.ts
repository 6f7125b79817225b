import type { WebSocketClass } from './live/web-socket.ts'
import type { Wallet } from './wallet/wallet.ts'

/** Options of a single call, which override those of the client. */
export interface RequestOptions {
  /** Aborts the call at any point: before it, in flight, while waiting for a retry, during a stream. */
  signal?: AbortSignal | undefined
  /** Limit of one attempt, and of each wait for more data of a stream; default 600. */
  timeoutSeconds?: number | undefined
  /** Limit of the call with all its retries, and of a stream to its end; default none. */
  deadlineSeconds?: number | undefined
  /** Maximum number of retries; default 2. */
  maxRetries?: number | undefined
  headers?: Readonly<Record<string, string>> | undefined
}

/** Options of calls that the service executes only once per key, however often they are sent. */
export interface IdempotentRequestOptions extends RequestOptions {
  /**
   * 1 to 255 characters of `A-Za-z0-9_-`. Set it to let another process repeat the call. If absent, each call has a
   * random key that its retries share. If null, no key is sent, and only rejected attempts are retried.
   */
  idempotencyKey?: string | null | undefined
}

export interface ClientOptions extends Omit<RequestOptions, 'signal'> {
  /** Base URL of the service, such as `https://api.example.com`; a trailing `/api/v1` is optional. */
  baseUrl: string
  /**
   * An API key, or a function that returns one for each attempt. Keys are secrets: in a web page, use only a key that
   * its user entered.
   */
  apiKey?: string | (() => string | Promise<string>) | undefined
  /** Signs each request instead of sending a key. */
  wallet?: Wallet | undefined
  /** The service's own public URL, if it differs from `baseUrl`: wallets sign for its origin. */
  publicUrl?: string | undefined
  /** The `service.name` of the service, which its headers contain; default `service`. */
  serviceName?: string | undefined
  /** Replaces the platform's `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Replaces the platform's `WebSocket`. */
  webSocket?: WebSocketClass | undefined
  /** Waits between attempts, instead of a timer; rejects when the signal aborts. */
  wait?: ((milliseconds: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
}
