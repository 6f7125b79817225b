/** Every way a request can fail, as one closed union; each front maps it exhaustively, so a new code does not compile until all three know it. */
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

/** The specification's validation tree: `_errors` at each level, one nested object per offending field. */
export interface ValidationTree {
  _errors: string[]
  [field: string]: ValidationTree | string[]
}

interface WindowFacts {
  limit: number
  remaining: number
  resetAtMs: number
}

/** With the instant by the clock that `resetAtMs` belongs to. */
interface TimedWindowFacts extends WindowFacts {
  nowMs: number
}

/** What a refusal by a rate window tells the caller: the numbers of the very window that refused. */
export interface LimitFacts extends WindowFacts {
  /** Sentence naming the cap, for the `customMessage` field. */
  rule: string
  /** The windows that the headers name; from the reset of `requests` on the same request passes. */
  windows?: { scope: 'user' | 'api_key' | 'global'; requests: TimedWindowFacts; tokens: TimedWindowFacts | null }
}

export interface DomainErrorOptions {
  details?: ValidationTree
  /** OpenAI's `param`: the request field at fault. */
  field?: string
  /** Finer than `code`, where public clients know it so. */
  publicCode?: string
  retryAfterSeconds?: number
  limit?: LimitFacts
  /** HTTP status that an upstream gave and that passes through (400, 404, 413, 422). */
  upstreamStatus?: number
  /** Further facts for the error body; safe for callers. */
  facts?: Record<string, string | number | boolean>
  cause?: unknown
}

/**
 * The only error that a caller may read. `message` is safe for callers: it names the field, the value, the limit and
 * the way out, and never holds SQL, hosts, stacks or secrets. Anything else that is thrown becomes `internal`.
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
