import type { Dispatcher } from 'undici'
import type { ProviderResponse } from '../../domain/inference/provider.ts'
import { ResponseBody } from './response-body.ts'
import { parseRetryAfterSeconds } from './retry-after.ts'
import { toTransportError } from './transport-error.ts'

type ResponseHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/**
 * One request and its answer, straight on undici's dispatch handler: `request()` would put a Node stream in between,
 * which is the larger part of what a streamed answer costs.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<ProviderResponse>
  readonly #signal: AbortSignal
  readonly #resolve: (response: ProviderResponse) => void
  readonly #reject: (error: unknown) => void
  /** Rejects at once, since an exchange that still waits for a connection has no controller to abort. */
  readonly #abort = () => {
    const reason = abortReason(this.#signal)
    this.#reject(reason)
    this.#controller?.abort(reason)
  }
  #controller: Dispatcher.DispatchController | undefined
  #body: ResponseBody | undefined

  constructor(signal: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<ProviderResponse>()
    this.response = promise
    this.#resolve = resolve
    this.#reject = reject
    this.#signal = signal
    signal.addEventListener('abort', this.#abort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal.aborted) controller.abort(abortReason(this.#signal))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) return
    this.#body = new ResponseBody(controller)
    this.#resolve({
      status,
      contentType: header(headers, 'content-type') ?? '',
      retryAfterSeconds: parseRetryAfterSeconds(header(headers, 'retry-after'), header(headers, 'date')),
      body: this.#body,
    })
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#body?.push(chunk)
  }

  onResponseEnd(): void {
    this.#signal.removeEventListener('abort', this.#abort)
    this.#body?.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: unknown): void {
    this.#signal.removeEventListener('abort', this.#abort)
    const error = this.#signal.aborted ? abortReason(this.#signal) : toTransportError(cause)
    if (this.#body === undefined) this.#reject(error)
    else this.#body.fail(error)
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
