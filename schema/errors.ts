import { GraphQLError, type GraphQLErrorExtensions } from 'graphql'
import { toDatabaseUnavailable } from '../server/domain/database-failure.ts'
import { DomainError, type DomainErrorCode } from '../server/domain/errors.ts'
import type { Log } from '../server/domain/log.ts'

interface GraphqlErrorForm {
  /** `extensions.code`, which clients branch on. */
  code: string
  /** HTTP status of a request that failed as a whole. */
  status: number
}

const badInput = { code: 'BAD_USER_INPUT', status: 400 }
const upstreamError = { code: 'UPSTREAM_ERROR', status: 502 }

/** The GraphQL form of every domain error; a new code does not compile until it has a line here. */
const GRAPHQL_ERRORS: Record<DomainErrorCode, GraphqlErrorForm> = {
  invalid_request: badInput,
  invalid_json: badInput,
  unauthenticated: { code: 'UNAUTHENTICATED', status: 401 },
  admin_key_required: { code: 'FORBIDDEN', status: 403 },
  sign_in_required: { code: 'UNAUTHENTICATED', status: 401 },
  sign_in_refused: { code: 'UNAUTHENTICATED', status: 401 },
  wallet_mismatch: { code: 'FORBIDDEN', status: 403 },
  forbidden: { code: 'FORBIDDEN', status: 403 },
  model_privacy: { code: 'FORBIDDEN', status: 403 },
  not_found: { code: 'NOT_FOUND', status: 404 },
  method_not_allowed: { code: 'BAD_USER_INPUT', status: 405 },
  gone: { code: 'NOT_FOUND', status: 410 },
  model_not_found: { code: 'NOT_FOUND', status: 404 },
  conflict: { code: 'CONFLICT', status: 409 },
  payload_too_large: { code: 'PAYLOAD_TOO_LARGE', status: 413 },
  unsupported_media_type: { code: 'UNSUPPORTED_MEDIA_TYPE', status: 415 },
  insufficient_balance: { code: 'INSUFFICIENT_BALANCE', status: 402 },
  key_limit_usd: { code: 'KEY_LIMIT_REACHED', status: 402 },
  key_limit_diem: { code: 'KEY_LIMIT_REACHED', status: 402 },
  rate_limited: { code: 'RATE_LIMITED', status: 429 },
  abuse_blocked: { code: 'RATE_LIMITED', status: 429 },
  idempotency_mismatch: badInput,
  context_length_exceeded: badInput,
  upstream_rejected: badInput,
  upstream_overloaded: { code: 'UPSTREAM_OVERLOADED', status: 429 },
  upstream_failed: upstreamError,
  upstream_timeout: { code: 'UPSTREAM_TIMEOUT', status: 504 },
  rpc_upstream_failed: upstreamError,
  payment_format_invalid: badInput,
  payment_invalid: badInput,
  payment_network_unsupported: badInput,
  payment_recipient_wrong: badInput,
  payment_token_unsupported: badInput,
  payment_scheme_unsupported: badInput,
  payment_amount_invalid: badInput,
  payment_payer_invalid: badInput,
  payment_too_low: badInput,
  payment_too_high: badInput,
  payment_refused: badInput,
  payment_failed: { code: 'PAYMENT_FAILED', status: 402 },
  payment_used: { code: 'CONFLICT', status: 409 },
  payment_not_accepted: badInput,
  payment_not_configured: { code: 'UNAVAILABLE', status: 503 },
  hold_lost: { code: 'HOLD_LOST', status: 503 },
  unavailable: { code: 'UNAVAILABLE', status: 503 },
  internal: { code: 'INTERNAL_SERVER_ERROR', status: 500 },
}

const INTERNAL_MESSAGE = 'An internal error occurred. Try again; if the error persists, report the request id.'

interface ErrorSurroundings {
  log: Log
  requestId?: string | undefined
}

/**
 * The client's view of anything that was thrown. Domain errors get their code; errors about the document itself stay
 * unchanged; the rest becomes one fixed sentence, and the log keeps the details.
 */
export function toClientError(error: unknown, { log, requestId }: ErrorSurroundings): GraphQLError {
  const thrown = rootCause(error)
  const cause = toDatabaseUnavailable(thrown) ?? thrown
  if (cause instanceof GraphQLError) return withCode(cause, error)
  if (cause instanceof DomainError && cause.code !== 'internal') {
    return locate(cause.message, error, { ...toExtensions(cause), ...toHttp(error, cause) })
  }
  log.error('graphql operation failed', { requestId, error: cause })
  const { code, status } = GRAPHQL_ERRORS.internal
  return locate(INTERNAL_MESSAGE, error, {
    code,
    ...(requestId === undefined ? {} : { requestId }),
    ...(isOfField(error) ? {} : { http: { status } }),
  })
}

/** Status of a rejection. With `spec`, GraphQL over HTTP sends 200 to clients that accept plain `application/json`. */
interface RefusalStatus {
  status: number
  spec: boolean
}

/** The error of an operation that is rejected as a whole. */
export function refusal(
  code: string,
  message: string,
  http: RefusalStatus = { status: 400, spec: true },
): GraphQLError {
  return new GraphQLError(message, { extensions: { code, http } })
}

/** graphql wraps errors of resolvers, sometimes more than once. */
function rootCause(error: unknown): unknown {
  let cause = error
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError
  return cause
}

function toExtensions({
  code,
  field,
  publicCode,
  details,
  retryAfterSeconds,
  facts,
}: DomainError): GraphQLErrorExtensions {
  return {
    code: GRAPHQL_ERRORS[code].code,
    ...(publicCode === undefined ? {} : { reason: publicCode }),
    ...(field === undefined ? {} : { field }),
    ...(details === undefined ? {} : { details }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(facts === undefined ? {} : { facts }),
  }
}

/**
 * A failure of the request as a whole, such as a wrong credential, decides the status; one of a field leaves it at 200.
 */
function toHttp(error: unknown, { code, retryAfterSeconds }: DomainError): GraphQLErrorExtensions {
  if (isOfField(error)) return {}
  const headers: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }
  return { http: { status: GRAPHQL_ERRORS[code].status, headers } }
}

function isOfField(error: unknown): boolean {
  return error instanceof GraphQLError && error.path !== undefined
}

/**
 * The GraphQL libraries' errors about ids have no code; of those about variables only the outermost names the variable.
 */
function withCode(cause: GraphQLError, error: unknown): GraphQLError {
  const { message } = error instanceof GraphQLError ? error : cause
  const extensions = withoutInsides(cause.extensions)
  return locate(message, error, { ...extensions, code: extensions['code'] ?? badInput.code })
}

/**
 * For a body that is not JSON, the library attaches its own error, which would make the status 400 for every client.
 */
function withoutInsides({ originalError, ...extensions }: GraphQLErrorExtensions): GraphQLErrorExtensions {
  return originalError === undefined ? extensions : { ...extensions, http: { status: 400, spec: false } }
}

function locate(message: string, error: unknown, extensions: GraphQLErrorExtensions): GraphQLError {
  if (!(error instanceof GraphQLError)) return new GraphQLError(message, { extensions })
  return new GraphQLError(message, {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    path: error.path ?? null,
    extensions,
  })
}
