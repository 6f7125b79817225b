import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { toApiError } from '../../client/sdk/http/error-body.ts'
import { toRestError } from '../../rest-facade/errors.ts'
import { toClientError } from '../../schema/errors.ts'
import { TRPC_CODES } from '../../schema/trpc/errors.ts'
import { DOMAIN_ERROR_CODES, DomainError, type DomainErrorCode } from '../../server/domain/errors.ts'
import { createRecordingLog } from '../support/recording-log.ts'

/** What kind of failure it is, by the class that the client throws. */
type Family = [rest: number, graphql: number, trpc: string, sdkClass: string]

const BAD_INPUT: Family = [400, 400, 'BAD_REQUEST', 'ValidationError']
const NOBODY: Family = [401, 401, 'UNAUTHORIZED', 'AuthenticationError']
const NOT_ALLOWED: Family = [403, 403, 'FORBIDDEN', 'PermissionError']
const NOTHING_THERE: Family = [404, 404, 'NOT_FOUND', 'NotFoundError']
const COLLISION: Family = [409, 409, 'CONFLICT', 'ConflictError']
const NO_MONEY: Family = [402, 402, 'PAYMENT_REQUIRED', 'InsufficientBalanceError']
const TOO_MANY: Family = [429, 429, 'TOO_MANY_REQUESTS', 'RateLimitError']
const BEHIND_US: Family = [502, 502, 'BAD_GATEWAY', 'ServerError']
const AWAY: Family = [503, 503, 'SERVICE_UNAVAILABLE', 'ServerError']

/** Each code with its family on all fronts, and with the names that REST and GraphQL give it. */
const CODES: Record<DomainErrorCode, [family: Family, rest: string, graphql: string]> = {
  invalid_request: [BAD_INPUT, 'INVALID_REQUEST', 'BAD_USER_INPUT'],
  invalid_json: [BAD_INPUT, 'INVALID_JSON', 'BAD_USER_INPUT'],
  unauthenticated: [NOBODY, 'AUTHENTICATION_FAILED', 'UNAUTHENTICATED'],
  // The specification has 401 here, GraphQL's custom is FORBIDDEN; the client tells them as one.
  admin_key_required: [[401, 403, 'UNAUTHORIZED', 'PermissionError'], 'ADMIN_KEY_REQUIRED', 'FORBIDDEN'],
  sign_in_required: [NOBODY, 'AUTHENTICATION_FAILED', 'UNAUTHENTICATED'],
  sign_in_refused: [NOBODY, 'X402_INVALID_SIGN_IN', 'UNAUTHENTICATED'],
  wallet_mismatch: [NOT_ALLOWED, 'X402_WALLET_MISMATCH', 'FORBIDDEN'],
  forbidden: [NOT_ALLOWED, 'UNAUTHORIZED', 'FORBIDDEN'],
  model_privacy: [NOT_ALLOWED, 'MODEL_PRIVACY', 'FORBIDDEN'],
  not_found: [NOTHING_THERE, 'NOT_FOUND', 'NOT_FOUND'],
  method_not_allowed: [[405, 405, 'METHOD_NOT_SUPPORTED', 'ValidationError'], 'METHOD_NOT_ALLOWED', 'BAD_USER_INPUT'],
  gone: [[410, 410, 'NOT_FOUND', 'NotFoundError'], 'GONE', 'NOT_FOUND'],
  model_not_found: [NOTHING_THERE, 'MODEL_NOT_FOUND', 'NOT_FOUND'],
  conflict: [COLLISION, 'CONFLICT', 'CONFLICT'],
  payload_too_large: [[413, 413, 'PAYLOAD_TOO_LARGE', 'ValidationError'], 'PAYLOAD_TOO_LARGE', 'PAYLOAD_TOO_LARGE'],
  unsupported_media_type: [
    [415, 415, 'UNSUPPORTED_MEDIA_TYPE', 'ValidationError'],
    'INVALID_CONTENT_TYPE',
    'UNSUPPORTED_MEDIA_TYPE',
  ],
  insufficient_balance: [NO_MONEY, 'INSUFFICIENT_BALANCE', 'INSUFFICIENT_BALANCE'],
  key_limit_usd: [NO_MONEY, 'API_KEY_USD_SPEND_LIMIT_EXCEEDED', 'KEY_LIMIT_REACHED'],
  key_limit_diem: [NO_MONEY, 'API_KEY_DIEM_SPEND_LIMIT_EXCEEDED', 'KEY_LIMIT_REACHED'],
  rate_limited: [TOO_MANY, 'RATE_LIMIT_EXCEEDED', 'RATE_LIMITED'],
  abuse_blocked: [TOO_MANY, 'TOO_MANY_FAILED_REQUESTS', 'RATE_LIMITED'],
  idempotency_mismatch: [BAD_INPUT, 'IDEMPOTENCY_KEY_REUSED', 'BAD_USER_INPUT'],
  context_length_exceeded: [BAD_INPUT, 'context_length_exceeded', 'BAD_USER_INPUT'],
  upstream_rejected: [BAD_INPUT, 'UPSTREAM_REJECTED', 'BAD_USER_INPUT'],
  upstream_overloaded: [TOO_MANY, 'MODEL_OVERLOADED', 'UPSTREAM_OVERLOADED'],
  upstream_failed: [BEHIND_US, 'INFERENCE_FAILED', 'UPSTREAM_ERROR'],
  upstream_timeout: [[504, 504, 'GATEWAY_TIMEOUT', 'ServerError'], 'REQUEST_TIMEOUT', 'UPSTREAM_TIMEOUT'],
  // The specification has 500 here.
  rpc_upstream_failed: [[500, 502, 'BAD_GATEWAY', 'ServerError'], 'RPC_UPSTREAM_FAILED', 'UPSTREAM_ERROR'],
  payment_format_invalid: [BAD_INPUT, 'INVALID_PAYMENT_FORMAT', 'BAD_USER_INPUT'],
  payment_invalid: [BAD_INPUT, 'INVALID_PAYMENT', 'BAD_USER_INPUT'],
  payment_network_unsupported: [BAD_INPUT, 'UNSUPPORTED_NETWORK', 'BAD_USER_INPUT'],
  payment_recipient_wrong: [BAD_INPUT, 'INVALID_PAYMENT_RECIPIENT', 'BAD_USER_INPUT'],
  payment_token_unsupported: [BAD_INPUT, 'UNSUPPORTED_TOKEN', 'BAD_USER_INPUT'],
  payment_scheme_unsupported: [BAD_INPUT, 'UNSUPPORTED_SCHEME', 'BAD_USER_INPUT'],
  payment_amount_invalid: [BAD_INPUT, 'INVALID_AMOUNT', 'BAD_USER_INPUT'],
  payment_payer_invalid: [BAD_INPUT, 'INVALID_PAYMENT_PAYER', 'BAD_USER_INPUT'],
  payment_too_low: [BAD_INPUT, 'AMOUNT_TOO_LOW', 'BAD_USER_INPUT'],
  payment_too_high: [BAD_INPUT, 'AMOUNT_TOO_HIGH', 'BAD_USER_INPUT'],
  payment_refused: [BAD_INPUT, 'PAYMENT_VERIFICATION_FAILED', 'BAD_USER_INPUT'],
  payment_failed: [NO_MONEY, 'SETTLEMENT_FAILED', 'PAYMENT_FAILED'],
  payment_used: [COLLISION, 'PAYMENT_ALREADY_USED', 'CONFLICT'],
  payment_not_accepted: [BAD_INPUT, 'PAYMENT_HEADER_NOT_ACCEPTED', 'BAD_USER_INPUT'],
  payment_not_configured: [AWAY, 'X402_NOT_CONFIGURED', 'UNAVAILABLE'],
  hold_lost: [AWAY, 'HOLD_LOST', 'HOLD_LOST'],
  unavailable: [AWAY, 'UNAVAILABLE', 'UNAVAILABLE'],
  internal: [[500, 500, 'INTERNAL_SERVER_ERROR', 'ServerError'], 'UNKNOWN_ERROR', 'INTERNAL_SERVER_ERROR'],
}

const surroundings = { log: createRecordingLog() }

describe.each(DOMAIN_ERROR_CODES.map((code) => ({ code, line: CODES[code] })))('$code', ({ code, line }) => {
  const [[restStatus, graphqlStatus, trpcCode, sdkClass], restCode, graphqlCode] = line
  const error = new DomainError(code, 'what is wrong')

  test('belongs to one error family on every front', () => {
    const { status } = toRestError(error, false)
    const { http } = toClientError(error, surroundings).extensions
    expect([status, (http as { status: number }).status, TRPC_CODES[code]]).toEqual([
      restStatus,
      graphqlStatus,
      trpcCode,
    ])
  })

  test('maps to one error class of the client from every front', () => {
    const { extensions, message } = toClientError(error, surroundings)
    const ofField = { errors: [{ message, extensions, path: ['field'] }], data: null }
    const answers = [
      { ...toRestError(error, false), code: restCode },
      { ...toRestError(error, true), code: restCode },
      { status: graphqlStatus, body: { errors: [{ message, extensions }] }, code: graphqlCode },
      { status: 200, body: ofField, code: graphqlCode },
    ]
    for (const { status, body, code: named } of answers) {
      expect(toApiError(body, status, null)).toMatchObject({ name: sdkClass, code: named })
    }
  })
})

test('the page about errors says the same', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `(?<code>[a-z_]+)` \|(?<rest>[^|]+)\|(?<name>[^|]+)\|(?<graphql>[^|]+)\|/gm)]
  expect(rows).toHaveLength(DOMAIN_ERROR_CODES.length)
  for (const { groups: { code = '', rest = '', name = '', graphql = '' } = {} } of rows) {
    const [[status], restCode, graphqlCode] = CODES[code as DomainErrorCode]
    expect(rest).toContain(String(status))
    expect(name).toContain(`\`${restCode}\``)
    expect(graphql).toContain(`\`${graphqlCode}\``)
  }
})
