import { toDatabaseUnavailable } from '../server/domain/database-failure.ts'
import { DomainError, type DomainErrorCode } from '../server/domain/errors.ts'

interface RestError {
  status: number
  /** Code in the body, as public clients of this API know it. */
  code: string
  /** OpenAI's error type. */
  type: string
  /** x402 clients read the code in `error` and the sentence in `message`. */
  x402?: true
}

const invalid = (code: string, status = 400): RestError => ({ status, code, type: 'invalid_request_error' })

const payment = (code: string, status = 400): RestError => ({ ...invalid(code, status), x402: true })

/** The REST form of every domain error; a new code does not compile until it has a line here. */
const REST_ERRORS: Record<DomainErrorCode, RestError> = {
  invalid_request: invalid('INVALID_REQUEST'),
  invalid_json: invalid('INVALID_JSON'),
  unauthenticated: { status: 401, code: 'AUTHENTICATION_FAILED', type: 'authentication_error' },
  admin_key_required: { status: 401, code: 'ADMIN_KEY_REQUIRED', type: 'authentication_error' },
  sign_in_required: { status: 401, code: 'AUTHENTICATION_FAILED', type: 'authentication_error' },
  sign_in_refused: { status: 401, code: 'X402_INVALID_SIGN_IN', type: 'authentication_error' },
  wallet_mismatch: { status: 403, code: 'X402_WALLET_MISMATCH', type: 'permission_error' },
  forbidden: { status: 403, code: 'UNAUTHORIZED', type: 'permission_error' },
  model_privacy: { status: 403, code: 'MODEL_PRIVACY', type: 'permission_error' },
  not_found: invalid('NOT_FOUND', 404),
  method_not_allowed: invalid('METHOD_NOT_ALLOWED', 405),
  gone: invalid('GONE', 410),
  model_not_found: invalid('MODEL_NOT_FOUND', 404),
  conflict: invalid('CONFLICT', 409),
  payload_too_large: invalid('PAYLOAD_TOO_LARGE', 413),
  unsupported_media_type: invalid('INVALID_CONTENT_TYPE', 415),
  insufficient_balance: { status: 402, code: 'INSUFFICIENT_BALANCE', type: 'insufficient_quota' },
  key_limit_usd: { status: 402, code: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED', type: 'insufficient_quota' },
  key_limit_diem: { status: 402, code: 'API_KEY_DIEM_SPEND_LIMIT_EXCEEDED', type: 'insufficient_quota' },
  rate_limited: { status: 429, code: 'RATE_LIMIT_EXCEEDED', type: 'rate_limit_error' },
  abuse_blocked: { status: 429, code: 'TOO_MANY_FAILED_REQUESTS', type: 'rate_limit_error' },
  idempotency_mismatch: invalid('IDEMPOTENCY_KEY_REUSED'),
  context_length_exceeded: invalid('context_length_exceeded'),
  upstream_rejected: invalid('UPSTREAM_REJECTED'),
  upstream_overloaded: { status: 429, code: 'MODEL_OVERLOADED', type: 'server_error' },
  upstream_failed: { status: 502, code: 'INFERENCE_FAILED', type: 'api_error' },
  upstream_timeout: { status: 504, code: 'REQUEST_TIMEOUT', type: 'api_error' },
  rpc_upstream_failed: { status: 500, code: 'RPC_UPSTREAM_FAILED', type: 'api_error' },
  payment_format_invalid: payment('INVALID_PAYMENT_FORMAT'),
  payment_invalid: payment('INVALID_PAYMENT'),
  payment_network_unsupported: payment('UNSUPPORTED_NETWORK'),
  payment_recipient_wrong: payment('INVALID_PAYMENT_RECIPIENT'),
  payment_token_unsupported: payment('UNSUPPORTED_TOKEN'),
  payment_scheme_unsupported: payment('UNSUPPORTED_SCHEME'),
  payment_amount_invalid: payment('INVALID_AMOUNT'),
  payment_payer_invalid: payment('INVALID_PAYMENT_PAYER'),
  payment_too_low: payment('AMOUNT_TOO_LOW'),
  payment_too_high: payment('AMOUNT_TOO_HIGH'),
  payment_refused: payment('PAYMENT_VERIFICATION_FAILED'),
  payment_failed: payment('SETTLEMENT_FAILED', 402),
  payment_used: payment('PAYMENT_ALREADY_USED', 409),
  payment_not_accepted: payment('PAYMENT_HEADER_NOT_ACCEPTED'),
  payment_not_configured: payment('X402_NOT_CONFIGURED', 503),
  hold_lost: { status: 503, code: 'HOLD_LOST', type: 'api_error' },
  unavailable: { status: 503, code: 'UNAVAILABLE', type: 'api_error' },
  internal: { status: 500, code: 'UNKNOWN_ERROR', type: 'api_error' },
}

export interface RestErrorAnswer {
  status: number
  body: Record<string, unknown>
}

/** Limits what leaves the process about a failure: an unknown one becomes this fixed sentence. */
export function toDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error
  return toDatabaseUnavailable(error) ?? new DomainError('internal', 'An unknown error occurred', { cause: error })
}

/** Status and body of an error; `openAiShape` selects OpenAI's error object instead of the public API's. */
export function toRestError(error: DomainError, openAiShape: boolean): RestErrorAnswer {
  const { status, type, x402, code: generalCode } = REST_ERRORS[error.code]
  const code = error.publicCode ?? generalCode
  const answered = error.code === 'upstream_rejected' ? (error.upstreamStatus ?? status) : status
  // Clients match on this one code in OpenAI's form, whatever form is configured.
  if (openAiShape || error.code === 'context_length_exceeded') {
    const body = { error: { message: error.message, type, param: error.field ?? null, code } }
    return { status: answered, body }
  }
  if (x402) {
    const details = error.facts === undefined ? {} : { details: error.facts }
    return { status: answered, body: { error: code, message: error.message, code, ...details } }
  }
  return {
    status: answered,
    body: {
      error: error.message,
      code,
      ...(error.details === undefined ? {} : { details: error.details }),
      ...(error.limit === undefined ? {} : { customMessage: error.limit.rule }),
      ...error.facts,
    },
  }
}
