import { AbortedError, ConnectionError, SluiceError, TimeoutError } from '../errors.ts'

/** Codes of Node's network errors before anything was sent. Browsers do not report a cause. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])

export interface CallLimits {
  signal: AbortSignal | undefined
  timeoutMs: number
  /** On the clock of `performance.now()`. */
  deadlineAtMs: number
}

/** One attempt of a call: it ends when it takes too long, or when the caller aborts. */
export class Attempt {
  readonly #limits: CallLimits
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(limits: CallLimits) {
    this.#limits = limits
    if (limits.signal?.aborted === true) this.#abort()
    else limits.signal?.addEventListener('abort', this.#abort, { once: true })
    this.arm()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Restarts the time limit for the next step. */
  arm(): void {
    clearTimeout(this.#timer)
    if (this.signal.aborted) return
    const { timeoutMs, deadlineAtMs } = this.#limits
    const untilDeadlineMs = deadlineAtMs - performance.now()
    const error =
      untilDeadlineMs < timeoutMs
        ? new TimeoutError('The deadline of the call has passed')
        : new TimeoutError(`No response within ${timeoutMs / 1_000} s; raise timeoutSeconds if it may take longer`)
    this.#timer = setTimeout(() => this.#controller.abort(error), Math.max(0, Math.min(timeoutMs, untilDeadlineMs)))
  }

  /** Clears the timer and stops listening to the caller's signal. */
  end(): void {
    clearTimeout(this.#timer)
    this.#limits.signal?.removeEventListener('abort', this.#abort)
  }

  /** Ends the attempt and closes its connection. */
  cancel(): void {
    this.#controller.abort(new AbortedError('The stream was closed'))
    this.end()
  }

  /** Converts anything thrown to one of this package's errors. */
  toError(thrown: unknown): SluiceError {
    if (this.signal.aborted) return this.signal.reason as SluiceError
    if (thrown instanceof SluiceError) return thrown
    return new ConnectionError(`No complete response from the service: ${describe(thrown)}`, { cause: thrown })
  }

  readonly #abort = (): void => this.#controller.abort(toAborted(this.#limits.signal))
}

export function toAborted(signal: AbortSignal | undefined): AbortedError {
  return new AbortedError('The call was aborted by its AbortSignal', { cause: signal?.reason })
}

/** Whether the failure certainly happened before the service received the request. */
export function wasNeverSent(error: SluiceError): boolean {
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && NEVER_SENT.has(String(cause.code))) return true
  }
  return false
}

function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  return thrown.cause instanceof Error
    ? `${thrown.message} (${thrown.cause.message || thrown.cause.name})`
    : thrown.message
}
