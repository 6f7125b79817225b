import type { DomainErrorCode } from '../server/domain/errors.ts'
import type { Access, Route, RouteBody, RouteLimits } from './route.ts'

type Codes = readonly DomainErrorCode[]

/** Errors of a client's payment. */
export const PAYMENT_ERRORS = [
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
  'payment_not_configured',
] as const satisfies Codes

/** Errors of a service that calls a model provider. */
export const PROVIDER_ERRORS = [
  'upstream_rejected',
  'upstream_overloaded',
  'upstream_failed',
  'upstream_timeout',
] as const satisfies Codes

/** Any path may be unreadable, and anything may fail. */
const ALWAYS: Codes = ['invalid_request', 'unavailable', 'internal']

const KEY: Codes = ['unauthenticated', 'forbidden', 'abuse_blocked']
const WALLET: Codes = ['sign_in_required', 'sign_in_refused']

const BY_ACCESS: Record<Access, Codes> = {
  public: [],
  optional: KEY,
  inference: [...KEY, ...WALLET, ...PAYMENT_ERRORS, 'rate_limited'],
  wallet: [...KEY, ...WALLET, 'wallet_mismatch'],
  any_key: KEY,
  admin: [...KEY, 'admin_key_required'],
}

const BY_BODY: Record<RouteBody['kind'], Codes> = {
  json: ['invalid_json', 'payload_too_large', 'unsupported_media_type'],
  raw: ['payload_too_large', 'unsupported_media_type'],
  multipart: ['payload_too_large', 'unsupported_media_type'],
  'json-or-multipart': ['invalid_json', 'payload_too_large', 'unsupported_media_type'],
}

const BY_LIMITS: Record<RouteLimits['counted'], Codes> = {
  before_handler: ['rate_limited'],
  by_service: ['rate_limited', 'insufficient_balance', 'key_limit_usd', 'key_limit_diem', 'hold_lost'],
  never: [],
}

const IDEMPOTENT: Codes = ['idempotency_mismatch', 'conflict']

/** Every error code of a route: those that it lists, and those implied by its declaration. */
export function errorsOf({
  access,
  body,
  limits,
  idempotent,
  takesPayment,
  errors,
}: Route): ReadonlySet<DomainErrorCode> {
  const takesNoPayment = access !== 'inference' && takesPayment === undefined
  return new Set([
    ...ALWAYS,
    ...BY_ACCESS[access],
    ...(takesNoPayment ? (['payment_not_accepted'] as const) : []),
    ...(body === undefined ? [] : BY_BODY[body.kind]),
    ...(limits === null ? [] : BY_LIMITS[limits.counted]),
    ...(idempotent === undefined ? [] : IDEMPOTENT),
    ...errors,
  ])
}
