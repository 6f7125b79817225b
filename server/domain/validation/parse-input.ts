import { z } from 'zod'
import { DomainError, type ValidationTree } from '../errors.ts'
import { safeParseDescribed } from './described.ts'
import { describeSent } from './messages.ts'

/** Parses `value`, or throws `invalid_request` with the `_errors` tree. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = safeParseDescribed(schema, value)
  if (parsed.success) return parsed.data
  throw invalidRequest(parsed.error.issues, value)
}

/** A validation issue in the form of https://standardschema.dev; zod's own issues also have a code. */
export interface SchemaIssue {
  message: string
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined
}

/** Builds the error: one sentence that names every invalid field of `input` and its value, besides the tree. */
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
  // A union with its own message needs no further explanation from its alternatives.
  if (code === 'invalid_union' && message !== 'Invalid input') return { code: 'custom', path, message: told }
  return { ...issue, message: told }
}

function innerValue(outer: unknown, key: PropertyKey): unknown {
  return typeof outer === 'object' && outer !== null && Object.hasOwn(outer, key)
    ? (outer as Record<PropertyKey, unknown>)[key]
    : undefined
}

/**
 * An `invalid_request` about one field, in the same form as a schema error; dots separate the path into objects and
 * lists.
 */
export function invalidField(field: string, message: string): DomainError {
  const leaf: ValidationTree = { _errors: [message] }
  const details = field.split('.').reduceRight((inner, name): ValidationTree => ({ _errors: [], [name]: inner }), leaf)
  return new DomainError('invalid_request', `Invalid request parameters: ${field}: ${message}`, { details, field })
}
