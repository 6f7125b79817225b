import { z } from 'zod'
import { DomainError, type ValidationTree } from './errors.ts'

/** Parses `value` or throws `invalid_request` with the specification's `_errors` tree. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw invalidRequest(parsed.error)
}

/** One sentence that names every offending field, beside the tree. */
export function invalidRequest(error: z.ZodError): DomainError {
  const first = error.issues[0]
  const field = first?.path.map(String).join('.')
  const sentences = error.issues.slice(0, 5).map((issue) => {
    const path = issue.path.map(String).join('.')
    return path === '' ? issue.message : `${path}: ${issue.message}`
  })
  return new DomainError('invalid_request', `Invalid request parameters: ${sentences.join('; ')}`, {
    details: z.formatError(error) as ValidationTree,
    ...(field ? { field } : {}),
  })
}

/** An `invalid_request` about one field, in the same shape as a schema failure. */
export function invalidField(field: string, message: string): DomainError {
  const details: ValidationTree = { _errors: [], [field]: { _errors: [message] } }
  return new DomainError('invalid_request', `Invalid request parameters: ${field}: ${message}`, { details, field })
}
