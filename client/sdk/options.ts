import type { WebSocketClass } from './live/web-socket.ts'
import type { Wallet } from './wallet/wallet.ts'

/** What a single call may set differently from its client. */
export interface RequestOptions {
  /** Ends the call wherever it is: before, in flight, while waiting for a retry, in the middle of a stream. */
  signal?: AbortSignal | undefined
  /** How long one try may take, and each wait for more of a stream; 600. */
  timeoutSeconds?: number | undefined
  /** How long the call may take with all its retries, and a stream to its end; no limit. */
  deadlineSeconds?: number | undefined
  /** How often a failed try is repeated; 2. */
  maxRetries?: number | undefined
  headers?: Readonly<Record<string, string>> | undefined
}

/** Options of calls that the service executes once per key, however often they arrive. */
export interface IdempotentRequestOptions extends RequestOptions {
  /**
   * 1 to 255 characters of `A-Za-z0-9_-`, so that a repeat by another process is the same call. Absent: a random one for each
   * call, which its retries share. Null: none, and then only refused tries are repeated.
   */
  idempotencyKey?: string | null | undefined
}

export interface ClientOptions extends Omit<RequestOptions, 'signal'> {
  /** Where the service is, such as `https://api.example.com`; a trailing `/api/v1` makes no difference. */
  baseUrl: string
  /**
   * An API key, or a function that gives one for each try. Keys are secrets: in a web page use one that its own user typed
   * in, never one of yours.
   */
  apiKey?: string | (() => string | Promise<string>) | undefined
  /** Signs each request in place of a key. */
  wallet?: Wallet | undefined
  /** The address that the service knows itself by, where it is another than `baseUrl`: wallets sign for its origin. */
  publicUrl?: string | undefined
  /** The wire name of the service, which its headers carry; `service`. */
  serviceName?: string | undefined
  /** In place of the platform's `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** In place of the platform's `WebSocket`. */
  webSocket?: WebSocketClass | undefined
  /** Waits between tries, in place of a timer; rejects when the signal aborts. */
  wait?: ((milliseconds: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
}
