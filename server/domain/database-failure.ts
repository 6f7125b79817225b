import { DomainError } from './errors.ts'

const LOCK_NOT_AVAILABLE = '55P03'
const QUERY_CANCELED = '57014'
const READ_ONLY_TRANSACTION = '25006'
const DISK_FULL = '53100'
const CHECK_VIOLATION = '23514'

/** SQLSTATE codes after which a connection is unusable: the server shuts down or rejects the session. */
const LOST_SQLSTATES = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '53300', READ_ONLY_TRANSACTION])
/**
 * SQLSTATE codes after which the same call may be retried: a deadlock was resolved, or the server lacks time or space.
 */
const TRANSIENT_SQLSTATES = new Set(['40001', '40P01', '53200', QUERY_CANCELED, DISK_FULL])
const LOST_SOCKET_ERRORS = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'])
const LOST_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/

/** True for a failure of the connection or of the server, which says nothing about the statement. */
export function isTransientDatabaseFailure(error: unknown): boolean {
  return isConnectionLost(error) || TRANSIENT_SQLSTATES.has(codeOf(error))
}

export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  return (
    LOST_SQLSTATES.has(code) ||
    code.startsWith('08') ||
    LOST_SOCKET_ERRORS.has(code) ||
    LOST_MESSAGES.test(error.message)
  )
}

export function isReadOnlySession(error: unknown): boolean {
  return codeOf(error) === READ_ONLY_TRANSACTION
}

/** True if a lock was not available within the transaction's lock timeout. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === LOCK_NOT_AVAILABLE
}

/** True if a row breaks a rule of its table, among them the bounds of a partition. */
export function isCheckViolation(error: unknown): boolean {
  return codeOf(error) === CHECK_VIOLATION
}

export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === DISK_FULL
}

/** The error that callers get while the database is down or busy; undefined for any other failure. */
export function toDatabaseUnavailable(error: unknown): DomainError | undefined {
  const message = unavailableMessage(error)
  return message === undefined
    ? undefined
    : new DomainError('unavailable', message, { retryAfterSeconds: 1, cause: error })
}

function unavailableMessage(error: unknown): string | undefined {
  if (isLockTimeout(error)) return 'Another request is changing the same data; try again shortly'
  if (codeOf(error) === QUERY_CANCELED) return 'The query took too long; request less at a time, or try again shortly'
  if (isTransientDatabaseFailure(error)) return 'The service is temporarily unavailable; try again shortly'
  return undefined
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
