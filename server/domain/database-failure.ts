import { DomainError } from './errors.ts'

/** SQLSTATE classes and socket errors after which the same call may be sent again: the server restarts, or a lock cycle was broken. */
const TRANSIENT_SQLSTATES = new Set(['40001', '40P01', '53300', '57P01', '57P02', '57P03', '25006'])
const LOCK_NOT_AVAILABLE = '55P03'
const TRANSIENT_SOCKET_ERRORS = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'])
const TRANSIENT_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/

/** True for a failure of the connection or of the server, which says nothing about the statement. */
export function isTransientDatabaseFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return (
    TRANSIENT_SQLSTATES.has(code) ||
    code.startsWith('08') ||
    TRANSIENT_SOCKET_ERRORS.has(code) ||
    TRANSIENT_MESSAGES.test(error.message)
  )
}

/** True where a lock was not had within the time that the transaction was ready to wait. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE
}

/** What a caller reads while the database is away, wherever that showed; undefined for any other failure. */
export function toDatabaseUnavailable(error: unknown): DomainError | undefined {
  if (!isTransientDatabaseFailure(error)) return undefined
  const message = 'The service cannot take requests at the moment; try again shortly'
  return new DomainError('unavailable', message, { retryAfterSeconds: 1, cause: error })
}
