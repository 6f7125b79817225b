import { DatabaseError } from 'pg'
import { ConfigError } from '../config/problem.ts'
import { NewerSchemaError } from '../db/migrate.ts'
import { isTransientDatabaseFailure } from '../domain/database-failure.ts'
import { type ErrorSummary, summarizeError, withoutUrls } from '../observability/error-summary.ts'
import { FolderInUseError } from './folder-lock.ts'

const OPERATORS_TO_MEND = [ConfigError, NewerSchemaError, FolderInUseError]

/**
 * The text that an operator reads when a start fails: a sentence if the reason is known, otherwise the log's summary,
 * because errors of libraries can contain the configured URLs with their passwords.
 */
export function describeStartFailure(error: unknown): string {
  if (!(error instanceof Error)) return describe(summarizeError(error))
  if (OPERATORS_TO_MEND.some((kind) => error instanceof kind)) return error.message
  if ('syscall' in error && error.syscall === 'listen') {
    return `Sluice cannot listen there (${error.message}): set PORT or HOST to a free address.`
  }
  // A name with several addresses fails with one error for each, and no message of its own.
  const reason = error instanceof AggregateError ? error.errors.map(String).join(', ') : error.message
  if (isTransientDatabaseFailure(error))
    return `The database at DATABASE_URL does not respond (${withoutUrls(reason)}).`
  if (error instanceof DatabaseError) {
    return `The database at DATABASE_URL rejected the connection: ${withoutUrls(error.message)} (${error.code})`
  }
  return describe(summarizeError(error))
}

function describe({ type, message, code, stack, cause, errors = [] }: ErrorSummary): string {
  const head = `${type}: ${message}${code === undefined ? '' : ` (${code})`}`
  const behind = [...(cause === undefined ? [] : [cause]), ...errors].map((one) => `Caused by ${describe(one)}`)
  return [head, ...(stack === undefined ? [] : [stack]), ...behind].join('\n')
}
