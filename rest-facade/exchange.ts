import type { IncomingMessage, ServerResponse } from 'node:http'
import { parse } from 'node:querystring'
import type { Caller, RequestContext } from '../server/domain/caller.ts'
import { DomainError } from '../server/domain/errors.ts'
import type { IdempotentRun } from '../server/domain/idempotency/idempotent-run.ts'
import type { Services } from '../server/domain/services.ts'
import type { ContentEncoding } from './content-encoding.ts'
import type { RequestTarget } from './request-target.ts'

export type PathParameters = Readonly<Record<string, string>>

/** The target of a request, from its path and query. */
export interface Target extends RequestTarget {
  params: PathParameters
}

/**
 * One REST request in progress: its input, its caller, and the head of the response. Handlers see nothing else of HTTP.
 */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: Target
  readonly services: Services
  readonly requestId: string
  readonly caller: Caller | null
  /** Parsed JSON, the parts of a form by name, or undefined if the route reads neither. */
  readonly body: unknown
  /** The body's exact bytes; for a form, the bytes that identify equal forms. */
  readonly rawBody: Buffer
  /**
   * Set under an idempotency key: the response is then sent only after it is stored, and continues if the client
   * disconnects.
   */
  run: IdempotentRun | null = null
  /** Compression of the body; null: none. */
  encoding: ContentEncoding | null = null
  /** By name as written. Sent with the head in one piece, which costs half of setting them one by one. */
  readonly #headers = new Map<string, string | number>()
  #abort: AbortController | undefined
  /** Never aborts. */
  #detached: AbortController | undefined

  constructor(parts: {
    request: IncomingMessage
    response: ServerResponse
    target: Target
    services: Services
    requestId: string
    caller: Caller | null
    body: unknown
    rawBody: Buffer
  }) {
    this.request = parts.request
    this.response = parts.response
    this.target = parts.target
    this.services = parts.services
    this.requestId = parts.requestId
    this.caller = parts.caller
    this.body = parts.body
    this.rawBody = parts.rawBody
  }

  /** The caller of a route that requires one. */
  requireCaller(): Caller {
    if (this.caller === null) throw new DomainError('unauthenticated', 'Authentication failed')
    return this.caller
  }

  /** Aborts if the client disconnects before the response is complete. */
  get signal(): AbortSignal {
    if (this.run !== null) return (this.#detached ??= new AbortController()).signal
    if (this.#abort === undefined) {
      const abort = new AbortController()
      this.#abort = abort
      if (this.response.destroyed) abort.abort()
      this.response.once('close', () => {
        if (!this.response.writableFinished) abort.abort()
      })
    }
    return this.#abort.signal
  }

  get context(): RequestContext {
    return { requestId: this.requestId, caller: this.requireCaller(), signal: this.signal }
  }

  param(name: string): string {
    return this.target.params[name] ?? ''
  }

  get query(): Record<string, unknown> {
    return parse(this.target.search)
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name]
    return Array.isArray(value) ? value[0] : value
  }

  get clientAddress(): string {
    return this.services.clientAddresses.of(this.request)
  }

  setHeader(name: string, value: string | number): void {
    this.#headers.set(name, value)
  }

  setHeaders(headers: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(headers)) this.#headers.set(name, value)
  }

  /** Adds a name to `Vary`, which may already contain the origin. */
  vary(name: string): void {
    const others = this.response.getHeader('Vary')
    this.setHeader('Vary', others === undefined ? name : `${String(others)}, ${name}`)
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name)
  }

  removeHeader(name: string): void {
    this.#headers.delete(name)
  }

  /** Sets the head of the response, which is sent with the first bytes of its body. */
  writeHead(): void {
    const { response } = this
    const headers: (string | number)[] = []
    for (const [name, value] of this.#headers) headers.push(name, value)
    response.writeHead(response.statusCode, headers)
  }
}
