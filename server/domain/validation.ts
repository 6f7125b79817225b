import { z } from 'zod'
import { DomainError, type ValidationTree } from './errors.ts'
import { describeIssue } from './rule-words.ts'

z.config({ customError: describeIssue })

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
    details: z.formatError(new z.ZodError(error.issues.map(withoutAlternatives))) as ValidationTree,
    ...(field ? { field } : {}),
  })
}

/** A union that says in its own words what fits is not explained a second time by each of its alternatives. */
function withoutAlternatives(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union' || issue.message === 'Invalid input') return issue
  return { code: 'custom', path: issue.path, message: issue.message, input: issue.input }
}

/** An `invalid_request` about one field, in the same shape as a schema failure; a dot leads into an object or a list. */
export function invalidField(field: string, message: string): DomainError {
  const leaf: ValidationTree = { _errors: [message] }
  const details = field.split('.').reduceRight((inner, name): ValidationTree => ({ _errors: [], [name]: inner }), leaf)
  return new DomainError('invalid_request', `Invalid request parameters: ${field}: ${message}`, { details, field })
}
