import { z } from 'zod'
import { DomainError, type ValidationTree } from '../errors.ts'
import { safeParseDescribed } from './described.ts'
import { describeSent } from './messages.ts'

/** Parses `value` or throws `invalid_request` with the specification's `_errors` tree. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = safeParseDescribed(schema, value)
  if (parsed.success) return parsed.data
  throw invalidRequest(parsed.error.issues, value)
}

/** What a schema objects to, as https://standardschema.dev gives it; zod's own issues have their code as well. */
export interface SchemaIssue {
  message: string
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined
}

/** One sentence that names every offending field of `input` and what it holds, beside the tree. */
export function invalidRequest(found: readonly SchemaIssue[], input: unknown): DomainError {
  const issues = found.map((issue) => explained(toZodIssue(issue), input))
  const field = issues[0]?.path.map(String).join('.')
  const sentences = issues.slice(0, 5).map(({ path, message }) => {
    return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`
  })
  return new DomainError('invalid_request', `Invalid request parameters: ${sentences.join('; ')}`, {
    details: z.formatError(new z.ZodError(issues)) as ValidationTree,
    ...(field ? { field } : {}),
  })
}

function toZodIssue({ path = [], ...issue }: SchemaIssue): z.core.$ZodIssue {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part))
  return { code: 'custom', ...issue, path: keys }
}

function explained(issue: z.core.$ZodIssue, input: unknown): z.core.$ZodIssue {
  const { message, path, code } = issue
  const sent = describeSent(issue, path.reduce(innerValue, input))
  const subject = path.length === 0 && code === 'invalid_type' ? 'the input ' : ''
  const told = `${subject}${message}${sent === undefined ? '' : ` (${sent})`}`
  // A union that says in its own words what fits is not explained a second time by each of its alternatives.
  if (code === 'invalid_union' && message !== 'Invalid input') return { code: 'custom', path, message: told }
  return { ...issue, message: told }
}

function innerValue(outer: unknown, key: PropertyKey): unknown {
  return typeof outer === 'object' && outer !== null && Object.hasOwn(outer, key)
    ? (outer as Record<PropertyKey, unknown>)[key]
    : undefined
}

/** An `invalid_request` about one field, in the same shape as a schema failure; a dot leads into an object or a list. */
export function invalidField(field: string, message: string): DomainError {
  const leaf: ValidationTree = { _errors: [message] }
  const details = field.split('.').reduceRight((inner, name): ValidationTree => ({ _errors: [], [name]: inner }), leaf)
  return new DomainError('invalid_request', `Invalid request parameters: ${field}: ${message}`, { details, field })
}
