import type { Request, Response } from 'express'
import type { Caller, RequestContext } from '../server/domain/auth/caller.ts'
import { DomainError } from '../server/domain/errors.ts'
import type { Services } from '../server/domain/services.ts'

/** One REST request being answered: what came in, who sent it, and how to answer. Handlers see nothing of Express but this. */
export class Exchange {
  readonly request: Request
  readonly response: Response
  readonly services: Services
  readonly requestId: string
  readonly caller: Caller | null
  /** Parsed JSON body, or undefined where the route reads none. */
  readonly body: unknown
  /** The body's exact bytes. */
  readonly rawBody: Buffer
  #abort: AbortController | undefined

  constructor(parts: {
    request: Request
    response: Response
    services: Services
    requestId: string
    caller: Caller | null
    body: unknown
    rawBody: Buffer
  }) {
    this.request = parts.request
    this.response = parts.response
    this.services = parts.services
    this.requestId = parts.requestId
    this.caller = parts.caller
    this.body = parts.body
    this.rawBody = parts.rawBody
  }

  /** The caller of a route that demands one. */
  requireCaller(): Caller {
    if (this.caller === null) throw new DomainError('unauthenticated', 'Authentication failed')
    return this.caller
  }

  /** Aborts when the client leaves before the answer is complete. */
  get signal(): AbortSignal {
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

  /** A path parameter. */
  param(name: string): string {
    const value = this.request.params[name]
    return typeof value === 'string' ? value : ''
  }

  get query(): Record<string, unknown> {
    return this.request.query
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name]
    return Array.isArray(value) ? value[0] : value
  }

  setHeader(name: string, value: string | number): void {
    this.response.setHeader(name, value)
  }

  json(status: number, value: unknown): void {
    this.text(status, 'application/json; charset=utf-8', JSON.stringify(value))
  }

  /** Express's own `send` computes an ETag of each body; answers here are never cached. */
  text(status: number, contentType: string, content: string | Buffer): void {
    const body = typeof content === 'string' ? Buffer.from(content) : content
    this.response.setHeader('Content-Type', contentType)
    this.response.setHeader('Content-Length', body.length)
    this.response.statusCode = status
    this.response.end(body)
  }
}
