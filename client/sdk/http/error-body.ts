import { type ApiError, createApiError, type ErrorCode, type FieldProblem, type ValidationTree } from '../errors.ts'
import type { ResponseInfo } from './response-info.ts'

/** Statuses of codes that arrive without one: in streams, in GraphQL responses and on sockets. */
const STATUSES: Readonly<Record<string, number>> = {
  BAD_USER_INPUT: 400,
  UNAUTHENTICATED: 401,
  INSUFFICIENT_BALANCE: 402,
  KEY_LIMIT_REACHED: 402,
  PAYMENT_FAILED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  RATE_LIMIT_EXCEEDED: 429,
  TOO_MANY_CONNECTIONS: 429,
  TOO_MANY_SUBSCRIPTIONS: 429,
  UPSTREAM_OVERLOADED: 429,
  MODEL_OVERLOADED: 429,
  INTERNAL_SERVER_ERROR: 500,
  UPSTREAM_ERROR: 502,
  HOLD_LOST: 503,
  UNAVAILABLE: 503,
  UPSTREAM_TIMEOUT: 504,
}

type Json = Readonly<Record<string, unknown>>

interface Reading {
  code: unknown
  message: unknown
  details: unknown
  field: unknown
  retryAfterSeconds: unknown
  /** Status of the failure itself, if its body contains one. */
  status?: unknown
}

/** The typed error of any failure body of the service: REST, OpenAI's form, GraphQL, tRPC or x402. */
export function toApiError(body: unknown, status: number, response: ResponseInfo | null): ApiError {
  const { code, message, details, field, retryAfterSeconds, ...told } = readBody(body)
  const named = typeof code === 'string' ? code : `HTTP_${status}`
  const text = typeof message === 'string' && message !== '' ? message : `The service responded with status ${status}`
  const tree = isRecord(details) && Array.isArray(details['_errors']) ? (details as ValidationTree) : null
  return createApiError({
    status: typeof told.status === 'number' ? told.status : status >= 400 ? status : statusOf(named),
    code: named,
    message: text,
    retryAfterSeconds: typeof retryAfterSeconds === 'number' ? retryAfterSeconds : readRetryAfter(response),
    fields: tree === null ? (typeof field === 'string' ? [{ path: field, messages: [text] }] : []) : flatten(tree, []),
    details: tree,
    body,
    response,
  })
}

/** A failure that the service returned as data, such as a member of a GraphQL result union. */
export function toRefusal(
  code: ErrorCode,
  facts: { message: string; fields?: readonly FieldProblem[]; retryAfterSeconds?: number | null; body: unknown },
  response: ResponseInfo | null,
): ApiError {
  return createApiError({
    fields: [],
    retryAfterSeconds: null,
    details: null,
    ...facts,
    status: statusOf(code),
    code,
    response,
  })
}

function statusOf(code: string): number {
  return STATUSES[code.toUpperCase()] ?? (code.startsWith('GRAPHQL_') ? 400 : 500)
}

function readBody(body: unknown): Reading {
  const root = isRecord(body) ? body : {}
  const errors: unknown = root['errors']
  if (Array.isArray(errors) && isRecord(errors[0])) return readGraphql(errors[0])
  const { error } = root
  if (!isRecord(error)) return readRest(root)
  return isRecord(error['data']) ? readTrpc(error, error['data']) : readOpenAi(error)
}

/** x402 puts the code in the field that others use for the text. */
function readRest(root: Json): Reading {
  const { error, code, message, details, retryAfterSeconds } = root
  const text = typeof message === 'string' ? message : error
  return {
    code: code ?? (text === error ? undefined : error),
    message: text,
    details,
    field: undefined,
    retryAfterSeconds,
  }
}

function readOpenAi({ code, message, param, retry_after: retryAfterSeconds }: Json): Reading {
  return { code, message, details: undefined, field: param, retryAfterSeconds }
}

function readGraphql({ message, extensions }: Json): Reading {
  const { code, details, field, retryAfterSeconds } = isRecord(extensions) ? extensions : {}
  return { code, message, details, field, retryAfterSeconds }
}

function readTrpc({ message }: Json, data: Json): Reading {
  const { code, domainCode, details, httpStatus } = data
  return {
    code: domainCode ?? code,
    message,
    details,
    field: undefined,
    retryAfterSeconds: undefined,
    status: httpStatus,
  }
}

/** `Retry-After` in seconds or as a date; the JSON-RPC route sends the end of its window instead. */
function readRetryAfter(response: ResponseInfo | null): number | null {
  const asked = response?.headers.get('retry-after') ?? null
  if (asked !== null) {
    const seconds = Number(asked)
    return Number.isFinite(seconds) ? Math.max(0, seconds) : secondsUntil(Date.parse(asked))
  }
  const reset = response?.status === 429 ? response.headers.get('x-ratelimit-reset') : null
  return reset === null || reset === undefined ? null : secondsUntil(Number(reset) * 1_000)
}

function secondsUntil(instantMs: number): number | null {
  return Number.isFinite(instantMs) ? Math.max(0, Math.ceil((instantMs - Date.now()) / 1_000)) : null
}

function flatten(tree: ValidationTree, path: readonly string[]): FieldProblem[] {
  const own = tree._errors.length === 0 ? [] : [{ path: path.join('.'), messages: tree._errors }]
  const below = Object.entries(tree).flatMap(([name, value]) =>
    Array.isArray(value) ? [] : flatten(value, [...path, name]),
  )
  return [...own, ...below]
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
