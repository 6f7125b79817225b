import type { Dispatcher } from 'undici'
import type { ProviderResponse } from '../../domain/inference/providers/provider.ts'
import { ResponseBody } from './response-body.ts'
import { parseRetryAfterSeconds } from './retry-after.ts'
import { timedOut, toTransportError } from './transport-error.ts'

/** A stream may keep its reader waiting for this many timeouts in total. */
const STREAM_TIMEOUTS = 10
const EVENT_STREAM = /^text\/event-stream\b/i

type ResponseHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/**
 * One request and its response, directly on undici's dispatch handler: `request()` would put a Node stream in between,
 * which is most of the cost of a streamed response.
 *
 * The timeout limits the whole exchange until the last byte, so an upstream that trickles cannot keep it open. Once a
 * stream has started, the pool limits each pause instead, and all pauses together are limited to ten times the timeout.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #response: Promise<ProviderResponse>
  readonly #signal: AbortSignal
  readonly #resolve: (response: ProviderResponse) => void
  readonly #reject: (error: unknown) => void
  readonly #timeoutMs: number
  readonly #deadline: NodeJS.Timeout
  /** Rejects at once, because an exchange that still waits for a connection has no controller to abort. */
  readonly #abort = () => this.#cancel(abortReason(this.#signal))
  #canceledBy: Error | undefined
  #isEventStream = false
  #controller: Dispatcher.DispatchController | undefined
  #body: ResponseBody | undefined

  constructor(signal: AbortSignal, timeoutMs: number) {
    const { promise, resolve, reject } = Promise.withResolvers<ProviderResponse>()
    this.#response = promise
    this.#resolve = resolve
    this.#reject = reject
    this.#signal = signal
    signal.addEventListener('abort', this.#abort)
    this.#timeoutMs = timeoutMs
    this.#deadline = setTimeout(() => this.#cancel(timedOut()), timeoutMs)
  }

  /**
   * Sends the request. Rejects with `upstream_failed`, `upstream_timeout` or the signal's reason if no response headers
   * arrive.
   */
  run(pool: Dispatcher, request: Dispatcher.DispatchOptions): Promise<ProviderResponse> {
    try {
      pool.dispatch(request, this)
    } catch (error) {
      this.#cancel(toTransportError(error))
    }
    return this.#response
  }

  /** From here on the response is forwarded before it is complete. */
  readonly startStream = (): void => clearTimeout(this.#deadline)

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#canceledBy !== undefined) controller.abort(this.#canceledBy)
    else if (this.#signal.aborted) controller.abort(abortReason(this.#signal))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) return
    const contentType = header(headers, 'content-type') ?? ''
    this.#isEventStream = status < 300 && EVENT_STREAM.test(contentType)
    this.#body = new ResponseBody(controller, this.#timeoutMs * STREAM_TIMEOUTS)
    this.#resolve({
      status,
      contentType,
      retryAfterSeconds: parseRetryAfterSeconds(header(headers, 'retry-after'), header(headers, 'date')),
      body: this.#body,
    })
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#isEventStream) this.startStream()
    this.#body?.push(chunk)
  }

  onResponseEnd(): void {
    this.#release()
    this.#body?.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: unknown): void {
    this.#release()
    const error = this.#canceledBy ?? toTransportError(cause)
    if (this.#body === undefined) this.#reject(error)
    else this.#body.fail(error)
  }

  #cancel(reason: Error): void {
    this.#release()
    this.#canceledBy ??= reason
    this.#reject(reason)
    this.#controller?.abort(reason)
  }

  #release(): void {
    clearTimeout(this.#deadline)
    this.#signal.removeEventListener('abort', this.#abort)
  }
}

function abortReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  return reason instanceof Error ? reason : new DOMException('The request was aborted', 'AbortError')
}

function header(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
