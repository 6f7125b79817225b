import type { z } from 'zod'
import { formatUsd } from '../money.ts'

const NAMED_VALUES_MAX = 30
/** A longer text is described by its length. */
const QUOTED_CHARACTERS_MAX = 40

const KINDS: Partial<Record<z.core.$ZodInvalidTypeExpected, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  date: 'a time',
}

const COUNTED: Readonly<Record<string, string>> = { string: 'characters', array: 'items', set: 'items', file: 'bytes' }

/** Describes an invalid value, for rules without their own message; undefined keeps zod's message. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : mustBe(KINDS[issue.expected])
    case 'too_small':
      return describeBound('at least', { ...issue, bound: issue.minimum })
    case 'too_big':
      return describeBound('at most', { ...issue, bound: issue.maximum })
    case 'invalid_value':
      return issue.values.length > NAMED_VALUES_MAX
        ? undefined
        : mustBe(issue.values.map(String).join(', '), 'one of: ')
    case 'unrecognized_keys':
      return `unknown field ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`
    default:
      return undefined
  }
}

/** Describes the value that was sent, as the end of the message; undefined if that adds nothing. */
export function describeSent({ code }: Pick<z.core.$ZodIssue, 'code'>, value: unknown): string | undefined {
  if (code === 'unrecognized_keys' || value === undefined || value === '') return undefined
  const isSizeAtFault = code === 'too_big' || code === 'too_small'
  if (typeof value === 'string' && value.length > QUOTED_CHARACTERS_MAX)
    return `it has ${value.length}${isSizeAtFault ? '' : ' characters'}`
  if (typeof value === 'string') return `it is ${JSON.stringify(value)}`
  if (Array.isArray(value) && isSizeAtFault) return `it has ${value.length}`
  if (Array.isArray(value)) return code === 'invalid_type' ? 'it is a list' : undefined
  // Internally, amounts are bigints in nano-USD.
  if (typeof value === 'bigint') return `it is ${formatUsd(value)}`
  if (value instanceof Date) return `it is ${value.toISOString()}`
  if (typeof value === 'number' || typeof value === 'boolean') return `it is ${value}`
  if (value === null) return 'it is null'
  return typeof value === 'object' && code === 'invalid_type' ? 'it is an object' : undefined
}

function mustBe(what: string | undefined, before = ''): string | undefined {
  return what === undefined ? undefined : `must be ${before}${what}`
}

interface Bound {
  origin: string
  bound: number | bigint
  inclusive?: boolean
  exact?: boolean
}

function describeBound(word: 'at least' | 'at most', { origin, bound, inclusive, exact }: Bound): string | undefined {
  // The limit of a date is in milliseconds, so it is not readable.
  if (origin === 'date') return undefined
  const counted = COUNTED[origin]
  if (counted !== undefined && exact === true) return `must have ${bound} ${counted}`
  if (counted !== undefined && word === 'at least' && bound === 1) return 'must not be empty'
  if (counted !== undefined) return `must have ${word} ${bound} ${counted}`
  if (inclusive === false) return `must be ${word === 'at least' ? 'more' : 'less'} than ${bound}`
  return `must be ${word} ${bound}`
}
