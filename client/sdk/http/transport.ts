import { ConnectionError } from '../errors.ts'
import type { ClientOptions, RequestOptions } from '../options.ts'
import { type ApiPromise, toApiPromise } from './api-promise.ts'
import { Attempt, type CallLimits, toAborted } from './attempt.ts'
import { toApiError } from './error-body.ts'
import { type ResponseInfo, readResponseInfo } from './response-info.ts'
import { type Repeat, retryDelayMs } from './retry-policy.ts'

const TIMEOUT_SECONDS = 600
const MAX_RETRIES = 2

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Relative to the root of the service. */
  path: string
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  /** Sent as JSON. */
  body?: unknown
  repeat: Repeat
  /** Reads integers beyond 2^53 as bigint. */
  bigints?: boolean | undefined
  /** Needs no credential; a key is sent if the client has one, a wallet is not asked to sign. */
  isPublic?: true
  options?: (RequestOptions & { idempotencyKey?: string | null | undefined }) | undefined
}

/** A response whose headers have arrived, with the attempt that reads its body. */
export interface OpenAnswer {
  response: Response
  attempt: Attempt
  retries: number
}

/** Adds the caller's credential to the headers of one attempt. */
export type Authorize = (headers: Headers, request: ApiRequest) => Promise<void>

/** Sends requests with the time limits, retries and errors that all parts of the client share. */
export class Transport {
  readonly options: ClientOptions
  readonly serviceName: string
  /** The service's root URL, without a trailing slash. */
  readonly rootUrl: string
  readonly #authorize: Authorize

  constructor(options: ClientOptions, authorize: Authorize) {
    this.options = options
    this.serviceName = options.serviceName ?? 'service'
    this.rootUrl = options.baseUrl.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
    this.#authorize = authorize
  }

  /** Resolves to the result of `toData` for the parsed body. */
  request<Data>(request: ApiRequest, toData: (body: never, response: ResponseInfo) => Data): ApiPromise<Data> {
    const answer = this.open(request, async (open) => {
      const body = parseAnswer(await open.response.text(), open.response, request.bigints === true)
      open.attempt.end()
      const response = this.describe(open, body)
      return { data: toData(body as never, response), response }
    })
    return toApiPromise(answer)
  }

  /** Sends until `read` accepts a successful response, or no further attempt is due. */
  async open<Result>(request: ApiRequest, read: (open: OpenAnswer) => Promise<Result>): Promise<Result> {
    const { options = {} } = request
    const key = request.repeat.startsWith('keyed') ? options.idempotencyKey : null
    const call: Call = {
      request,
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
      idempotencyKey: key === undefined ? randomHex(16) : key,
      limits: this.#limitsOf(options),
    }
    const repeat = key === null && request.repeat !== 'safe' ? 'unsafe' : request.repeat
    const maxRetries = options.maxRetries ?? this.options.maxRetries ?? MAX_RETRIES
    for (let retries = 0; ; retries++) {
      const attempt = new Attempt(call.limits)
      try {
        return await read({ response: await this.#send(call, attempt, retries), attempt, retries })
      } catch (thrown) {
        const error = attempt.toError(thrown)
        attempt.end()
        const delayMs = retries < maxRetries ? retryDelayMs(error, repeat, retries) : undefined
        if (delayMs === undefined || performance.now() + delayMs >= call.limits.deadlineAtMs) throw error
        await this.wait(delayMs, call.limits.signal)
      }
    }
  }

  /** The information of a response besides its data. */
  describe({ response, retries }: Pick<OpenAnswer, 'response' | 'retries'>, body?: unknown): ResponseInfo {
    return readResponseInfo(response, { serviceName: this.serviceName, retries, body })
  }

  async #send({ request, body, idempotencyKey }: Call, attempt: Attempt, retries: number): Promise<Response> {
    const headers = new Headers({ accept: 'application/json', ...this.options.headers, ...request.options?.headers })
    if (body !== undefined) headers.set('content-type', 'application/json')
    if (idempotencyKey !== null) headers.set('idempotency-key', idempotencyKey)
    // An aborted call must not request a signature.
    attempt.signal.throwIfAborted()
    await this.#authorize(headers, request)
    const init: RequestInit = { method: request.method, headers, signal: attempt.signal }
    if (body !== undefined) init.body = body
    const url = this.rootUrl + request.path + toQuery(request.query)
    const response = await (this.options.fetch ?? globalThis.fetch)(url, init)
    attempt.arm()
    if (response.ok) return response
    const failure = toJson(await response.text())
    throw toApiError(failure, response.status, this.describe({ response, retries }))
  }

  #limitsOf(options: RequestOptions): CallLimits {
    const timeoutSeconds = options.timeoutSeconds ?? this.options.timeoutSeconds ?? TIMEOUT_SECONDS
    const deadlineSeconds = options.deadlineSeconds ?? this.options.deadlineSeconds ?? Number.POSITIVE_INFINITY
    return {
      signal: options.signal,
      timeoutMs: timeoutSeconds * 1_000,
      deadlineAtMs: performance.now() + deadlineSeconds * 1_000,
    }
  }

  /** Throws AbortedError as soon as the signal aborts. */
  async wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    try {
      await (this.options.wait ?? sleep)(delayMs, signal)
    } catch {
      throw toAborted(signal)
    }
  }
}

/** State shared by all attempts of one call. */
interface Call {
  request: ApiRequest
  body: string | undefined
  idempotencyKey: string | null
  limits: CallLimits
}

/** Resolves after the time; rejects as soon as the signal aborts. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(toAborted(signal))
    const abort = (): void => {
      clearTimeout(timer)
      reject(toAborted(signal))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

export function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes))
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function toQuery(query: ApiRequest['query']): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, String(value))
  return search.size === 0 ? '' : `?${search}`
}

function parseAnswer(text: string, { status, headers }: Response, bigints: boolean): unknown {
  if (text === '') return null
  const body = toJson(text, bigints ? keepInteger : undefined)
  if (body !== undefined) return body
  const type = headers.get('content-type') ?? 'no content type'
  throw new ConnectionError(`The response is not JSON (status ${status}, ${type}); check baseUrl`)
}

function toJson(text: string, revive?: Reviver): unknown {
  try {
    return JSON.parse(text, revive)
  } catch {
    return undefined
  }
}

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown

/** Platforms before 2025 do not provide the text of a number; there it stays a number. */
function keepInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const source = context?.source ?? ''
  return /^-?\d+$/.test(source) ? BigInt(source) : value
}
