import type { ResponseInfo } from './http/response-info.ts'

/** Base of everything that this package throws. */
export class SluiceError extends Error {
  override readonly name: string = 'SluiceError'
}

/**
 * Codes that the service gives; others pass as they come, since a newer service may know more.
 * Those in the second half are the names that GraphQL and streams use.
 */
export type ErrorCode =
  | 'INVALID_REQUEST'
  | 'INVALID_JSON'
  | 'AUTHENTICATION_FAILED'
  | 'AUTHENTICATION_FAILED_INACTIVE_KEY'
  | 'ADMIN_KEY_REQUIRED'
  | 'UNAUTHORIZED'
  | 'MODEL_PRIVACY'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'GONE'
  | 'MODEL_NOT_FOUND'
  | 'CONFLICT'
  | 'PAYLOAD_TOO_LARGE'
  | 'INVALID_CONTENT_TYPE'
  | 'INSUFFICIENT_BALANCE'
  | 'PAYMENT_REQUIRED'
  | 'API_KEY_USD_SPEND_LIMIT_EXCEEDED'
  | 'API_KEY_DIEM_SPEND_LIMIT_EXCEEDED'
  | 'RATE_LIMIT_EXCEEDED'
  | 'TOO_MANY_FAILED_REQUESTS'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'context_length_exceeded'
  | 'UPSTREAM_REJECTED'
  | 'MODEL_OVERLOADED'
  | 'INFERENCE_FAILED'
  | 'REQUEST_TIMEOUT'
  | 'RPC_UPSTREAM_FAILED'
  | 'HOLD_LOST'
  | 'UNAVAILABLE'
  | 'UNKNOWN_ERROR'
  | 'BAD_USER_INPUT'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'KEY_LIMIT_REACHED'
  | 'RATE_LIMITED'
  | 'UPSTREAM_ERROR'
  | 'INTERNAL_SERVER_ERROR'
  | 'upstream_error'
  | 'model_overloaded'
  | (string & {})

/** What is wrong with one field of a request. */
export interface FieldProblem {
  /** Names from the body's root, joined by dots; empty: the body as a whole. */
  path: string
  messages: readonly string[]
}

/** The validation tree of the service: `_errors` at each level, one nested object for each field at fault. */
export interface ValidationTree {
  _errors: string[]
  [field: string]: ValidationTree | string[]
}

export interface ApiErrorFacts {
  status: number
  code: ErrorCode
  message: string
  retryAfterSeconds: number | null
  fields: readonly FieldProblem[]
  details: ValidationTree | null
  /** The answer's body as it came, parsed where it was JSON. */
  body: unknown
  response: ResponseInfo | null
}

/**
 * The service refused or failed. Its subclasses say what kind of failure it is; `code` says which.
 *
 * @example
 * try {
 *   await sluice.chat.completions.create(request)
 * } catch (error) {
 *   if (error instanceof RateLimitError) console.log(`again in ${error.retryAfterSeconds} s`)
 *   else if (error instanceof ApiError) console.log(error.code, error.requestId)
 *   else throw error
 * }
 */
export class ApiError extends SluiceError {
  override readonly name: string = 'ApiError'
  /** HTTP status. Failures inside a stream, a GraphQL answer or a socket carry the status of their kind. */
  readonly status: number
  readonly code: ErrorCode
  /** Seconds to wait before another try; null where the service names none. */
  readonly retryAfterSeconds: number | null
  /** Each field at fault with its messages; empty unless the input was refused. */
  readonly fields: readonly FieldProblem[]
  /** The same as a tree, where the service sent one. */
  readonly details: ValidationTree | null
  readonly body: unknown
  /** Request id, limits and balances of the answer; null where the failure came over a socket. */
  readonly response: ResponseInfo | null

  constructor(facts: ApiErrorFacts) {
    super(facts.message)
    this.status = facts.status
    this.code = facts.code
    this.retryAfterSeconds = facts.retryAfterSeconds
    this.fields = facts.fields
    this.details = facts.details
    this.body = facts.body
    this.response = facts.response
  }

  /** Names the request to the operator of the service. */
  get requestId(): string | null {
    return this.response?.requestId ?? null
  }
}

/** 400, 405, 413, 415, 422: the request breaks a rule; `fields` names where. */
export class ValidationError extends ApiError {
  override readonly name = 'ValidationError'
}

/** 401: no credential, or a wrong or ended one. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError'
}

/** 402: the balance, or what the key may spend, does not cover the request. Nothing was charged. */
export class InsufficientBalanceError extends ApiError {
  override readonly name = 'InsufficientBalanceError'
}

/** 403, or 401 with `ADMIN_KEY_REQUIRED`: the credential is known and not allowed to do this. */
export class PermissionError extends ApiError {
  override readonly name = 'PermissionError'
}

/** 404 and 410: no such model, object or path. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError'
}

/** 409: it collides with something that is there or under way. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError'
}

/** 429: a rate limit, or an overloaded model. `retryAfterSeconds` says when to try again. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError'
}

/** 5xx: the service or what stands behind it failed. Nothing was charged. */
export class ServerError extends ApiError {
  override readonly name = 'ServerError'
}

/** No complete answer: the service was not reached, or the connection broke. `cause` says why. */
export class ConnectionError extends SluiceError {
  override readonly name: string = 'ConnectionError'
}

/** No answer within `timeoutSeconds`, or none before `deadlineSeconds` had passed. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError'
}

/** The caller's own AbortSignal ended the call; `cause` is the signal's reason. */
export class AbortedError extends SluiceError {
  override readonly name = 'AbortedError'
}

const CLASSES: Readonly<Record<number, typeof ApiError>> = {
  400: ValidationError,
  401: AuthenticationError,
  402: InsufficientBalanceError,
  403: PermissionError,
  404: NotFoundError,
  405: ValidationError,
  409: ConflictError,
  410: NotFoundError,
  413: ValidationError,
  415: ValidationError,
  422: ValidationError,
  429: RateLimitError,
}

/** The error class that fits the status. */
export function createApiError(facts: ApiErrorFacts): ApiError {
  // The one refusal whose status is not the same everywhere: 401 over REST, FORBIDDEN in GraphQL.
  if (facts.code === 'ADMIN_KEY_REQUIRED') return new PermissionError(facts)
  const ErrorClass = facts.status >= 500 ? ServerError : (CLASSES[facts.status] ?? ApiError)
  return new ErrorClass(facts)
}
