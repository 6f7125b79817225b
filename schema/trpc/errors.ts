import { StandardSchemaV1Error, type TRPCError } from '@trpc/server'
import type { TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc'
import { DomainError, type DomainErrorCode, type ValidationTree } from '../../server/domain/errors.ts'
import { invalidRequest } from '../../server/domain/validation/parse-input.ts'

/** The tRPC code of every domain error; a new code does not compile until it has a line here. */
export const TRPC_CODES: Record<DomainErrorCode, TRPC_ERROR_CODE_KEY> = {
  invalid_request: 'BAD_REQUEST',
  invalid_json: 'BAD_REQUEST',
  unauthenticated: 'UNAUTHORIZED',
  admin_key_required: 'UNAUTHORIZED',
  sign_in_required: 'UNAUTHORIZED',
  sign_in_refused: 'UNAUTHORIZED',
  wallet_mismatch: 'FORBIDDEN',
  forbidden: 'FORBIDDEN',
  model_privacy: 'FORBIDDEN',
  not_found: 'NOT_FOUND',
  method_not_allowed: 'METHOD_NOT_SUPPORTED',
  gone: 'NOT_FOUND',
  model_not_found: 'NOT_FOUND',
  conflict: 'CONFLICT',
  payload_too_large: 'PAYLOAD_TOO_LARGE',
  unsupported_media_type: 'UNSUPPORTED_MEDIA_TYPE',
  insufficient_balance: 'PAYMENT_REQUIRED',
  key_limit_usd: 'PAYMENT_REQUIRED',
  key_limit_diem: 'PAYMENT_REQUIRED',
  rate_limited: 'TOO_MANY_REQUESTS',
  abuse_blocked: 'TOO_MANY_REQUESTS',
  idempotency_mismatch: 'BAD_REQUEST',
  context_length_exceeded: 'BAD_REQUEST',
  upstream_rejected: 'BAD_REQUEST',
  upstream_overloaded: 'TOO_MANY_REQUESTS',
  upstream_failed: 'BAD_GATEWAY',
  upstream_timeout: 'GATEWAY_TIMEOUT',
  rpc_upstream_failed: 'BAD_GATEWAY',
  payment_format_invalid: 'BAD_REQUEST',
  payment_invalid: 'BAD_REQUEST',
  payment_network_unsupported: 'BAD_REQUEST',
  payment_recipient_wrong: 'BAD_REQUEST',
  payment_token_unsupported: 'BAD_REQUEST',
  payment_scheme_unsupported: 'BAD_REQUEST',
  payment_amount_invalid: 'BAD_REQUEST',
  payment_payer_invalid: 'BAD_REQUEST',
  payment_too_low: 'BAD_REQUEST',
  payment_too_high: 'BAD_REQUEST',
  payment_refused: 'BAD_REQUEST',
  payment_failed: 'PAYMENT_REQUIRED',
  payment_used: 'CONFLICT',
  payment_not_accepted: 'BAD_REQUEST',
  payment_not_configured: 'SERVICE_UNAVAILABLE',
  hold_lost: 'SERVICE_UNAVAILABLE',
  unavailable: 'SERVICE_UNAVAILABLE',
  internal: 'INTERNAL_SERVER_ERROR',
}

const INTERNAL_MESSAGE = 'Internal error.'

export interface OperatorErrorFacts {
  message: string
  /** The domain's own code; null for other errors. */
  domainCode: DomainErrorCode | null
  details: ValidationTree | null
}

/** The caller's view of an error; an unknown one becomes a fixed sentence. `input` is the input of the call. */
export function toErrorFacts(error: TRPCError, input: unknown): OperatorErrorFacts {
  if (error.code === 'INTERNAL_SERVER_ERROR') return { message: INTERNAL_MESSAGE, domainCode: null, details: null }
  const cause = toDomainCause(error.cause, input)
  if (!(cause instanceof DomainError)) return { message: error.message, domainCode: null, details: null }
  return { message: cause.message, domainCode: cause.code, details: cause.details ?? null }
}

/** Converts an input that its schema rejected to the domain's own error. */
function toDomainCause(cause: unknown, input: unknown): unknown {
  if (!(cause instanceof StandardSchemaV1Error)) return cause
  return invalidRequest(cause.issues, input)
}
