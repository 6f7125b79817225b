/**
 * Every way a request can fail, as one closed union. Each API maps it exhaustively, so a new code does not compile until
 * all three handle it.
 */
export const DOMAIN_ERROR_CODES = [
  'invalid_request',
  'invalid_json',
  'unauthenticated',
  'admin_key_required',
  'sign_in_required',
  'sign_in_refused',
  'wallet_mismatch',
  'forbidden',
  'model_privacy',
  'not_found',
  'method_not_allowed',
  'gone',
  'model_not_found',
  'conflict',
  'payload_too_large',
  'unsupported_media_type',
  'insufficient_balance',
  'key_limit_usd',
  'key_limit_diem',
  'rate_limited',
  'abuse_blocked',
  'idempotency_mismatch',
  'context_length_exceeded',
  'upstream_rejected',
  'upstream_overloaded',
  'upstream_failed',
  'upstream_timeout',
  'rpc_upstream_failed',
  'payment_format_invalid',
  'payment_invalid',
  'payment_network_unsupported',
  'payment_recipient_wrong',
  'payment_token_unsupported',
  'payment_scheme_unsupported',
  'payment_amount_invalid',
  'payment_payer_invalid',
  'payment_too_low',
  'payment_too_high',
  'payment_refused',
  'payment_failed',
  'payment_used',
  'payment_not_accepted',
  'payment_not_configured',
  'hold_lost',
  'unavailable',
  'internal',
] as const

export type DomainErrorCode = (typeof DOMAIN_ERROR_CODES)[number]

/** Validation errors: `_errors` at each level, and one nested object per invalid field. */
export interface ValidationTree {
  _errors: string[]
  [field: string]: ValidationTree | string[]
}

interface WindowFacts {
  limit: number
  remaining: number
  resetAtMs: number
}

/** Includes the time by the clock that `resetAtMs` belongs to. */
interface TimedWindowFacts extends WindowFacts {
  nowMs: number
}

/** Details of a rate-limit error: the state of the window that rejected. */
export interface LimitFacts extends WindowFacts {
  /** Sentence that names the limit, for the `customMessage` field. */
  rule: string
  /** The windows in the headers; after the reset of `requests` the same request passes. */
  windows?: { scope: 'user' | 'api_key' | 'global'; requests: TimedWindowFacts; tokens: TimedWindowFacts | null }
}

export interface DomainErrorOptions {
  details?: ValidationTree
  /** OpenAI's `param`: the invalid request field. */
  field?: string
  /** A more specific code than `code`, if existing clients know one. */
  publicCode?: string
  retryAfterSeconds?: number
  limit?: LimitFacts
  /** Upstream HTTP status that passes through to the client (400, 404, 413, 422). */
  upstreamStatus?: number
  /** Additional details for the error body; safe to show to callers. */
  facts?: Record<string, string | number | boolean>
  cause?: unknown
}

/**
 * The only error that a caller may see. `message` is safe for callers: it names the field, the value, the limit and the
 * remedy, and never contains SQL, hosts, stacks or secrets. Any other error becomes `internal`.
 */
export class DomainError extends Error {
  override readonly name = 'DomainError'
  readonly code: DomainErrorCode
  readonly details: ValidationTree | undefined
  readonly field: string | undefined
  readonly publicCode: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly limit: LimitFacts | undefined
  readonly upstreamStatus: number | undefined
  readonly facts: Readonly<Record<string, string | number | boolean>> | undefined

  constructor(code: DomainErrorCode, message: string, options: DomainErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details
    this.field = options.field
    this.publicCode = options.publicCode
    this.retryAfterSeconds = options.retryAfterSeconds
    this.limit = options.limit
    this.upstreamStatus = options.upstreamStatus
    this.facts = options.facts
  }
}

export function accountMissing(accountId: string): DomainError {
  return new DomainError('not_found', `The account ${accountId.slice(0, 64)} does not exist`)
}
