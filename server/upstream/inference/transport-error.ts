import { DomainError } from '../../domain/errors.ts'

const TIMEOUT_CODES = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
])

/** Maps a failed exchange to a domain error; the cause, which may name hosts, is kept for the log only. */
export function toTransportError(cause: unknown): DomainError {
  if (cause instanceof DomainError) return cause
  if (TIMEOUT_CODES.has(errorCode(cause))) return timedOut(cause)
  const message = 'The connection to the model provider failed. Try again, or choose another model.'
  return new DomainError('upstream_failed', message, { cause })
}

export function timedOut(cause?: unknown): DomainError {
  const message = 'The model provider did not respond in time. Try again, or send a smaller request.'
  return new DomainError('upstream_timeout', message, { cause })
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
