import type { ResponseInfo } from './http/response-info.ts'

/** Base class of all errors of this package. */
export class SluiceError extends Error {
  override readonly name: string = 'SluiceError'
}

/**
 * Codes of the service. Unknown codes are passed on, since a newer service may have more. The second half are the codes
 * of GraphQL and streams.
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

/** The errors of one field of a request. */
export interface FieldProblem {
  /** Path from the root of the body, joined by dots; empty for the whole body. */
  path: string
  messages: readonly string[]
}

/** The validation tree of the service: `_errors` at each level, and one nested object for each invalid field. */
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
  /** The response body, parsed if it is JSON. */
  body: unknown
  response: ResponseInfo | null
}

/**
 * The service rejected the request or failed. The subclass is the kind of failure; `code` is the exact one.
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
  /** HTTP status. Failures inside a stream, a GraphQL response or a socket have the status of their kind. */
  readonly status: number
  readonly code: ErrorCode
  /** Seconds to wait before a retry; null if the service gives none. */
  readonly retryAfterSeconds: number | null
  /** Each invalid field with its messages; empty unless the input was rejected. */
  readonly fields: readonly FieldProblem[]
  /** The same as a tree, if the service sent one. */
  readonly details: ValidationTree | null
  readonly body: unknown
  /** Request id, limits and balances of the response; null if the failure came over a socket. */
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

  /** Id of the request, for questions to the operator of the service. */
  get requestId(): string | null {
    return this.response?.requestId ?? null
  }
}

/** 400, 405, 413, 415, 422: the request is invalid; `fields` lists the invalid fields. */
export class ValidationError extends ApiError {
  override readonly name = 'ValidationError'
}

/** 401: the credential is missing, wrong, revoked or expired. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError'
}

/** 402: the balance or the key's limit does not cover the request. Nothing was charged. */
export class InsufficientBalanceError extends ApiError {
  override readonly name = 'InsufficientBalanceError'
}

/** 403, or 401 with `ADMIN_KEY_REQUIRED`: the credential is valid but not allowed to do this. */
export class PermissionError extends ApiError {
  override readonly name = 'PermissionError'
}

/** 404 and 410: the model, object or path does not exist. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError'
}

/** 409: the request conflicts with an existing object or a running request. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError'
}

/** 429: a rate limit, or an overloaded model. Retry after `retryAfterSeconds`. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError'
}

/** 5xx: the service or its upstream failed. Nothing was charged. */
export class ServerError extends ApiError {
  override readonly name = 'ServerError'
}

/** No complete response: the service could not be reached, or the connection broke. `cause` is the reason. */
export class ConnectionError extends SluiceError {
  override readonly name: string = 'ConnectionError'
}

/** No response within `timeoutSeconds` or `deadlineSeconds`. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError'
}

/** The caller's AbortSignal aborted the call; `cause` is the signal's reason. */
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
  // The only rejection whose status differs: 401 over REST, FORBIDDEN in GraphQL.
  if (facts.code === 'ADMIN_KEY_REQUIRED') return new PermissionError(facts)
  const ErrorClass = facts.status >= 500 ? ServerError : (CLASSES[facts.status] ?? ApiError)
  return new ErrorClass(facts)
}
