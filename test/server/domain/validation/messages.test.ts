import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseInput } from '../../../../server/domain/validation/parse-input.ts'

const refusalOf = (schema: z.ZodType, value: unknown): string => {
  try {
    parseInput(schema, value)
  } catch (error) {
    return error instanceof Error ? error.message.replace('Invalid request parameters: ', '') : ''
  }
  return 'no refusal'
}

describe('a rule without a message of its own', () => {
  it.each<[string, z.ZodType, unknown]>([
    ['a: is missing', z.object({ a: z.string() }), {}],
    ['a: must be a string (it is 7)', z.object({ a: z.string() }), { a: 7 }],
    ['a: must be a string (it is null)', z.object({ a: z.string() }), { a: null }],
    ['a: must be a string (it is a list)', z.object({ a: z.string() }), { a: ['x', 'y'] }],
    ['a: must be a string (it is an object)', z.object({ a: z.string() }), { a: {} }],
    ['the input is missing', z.object({}), undefined],
    ['the input must be a whole number (it is 1.5)', z.int(), 1.5],
    ['must be at least 1 (it is 0)', z.int().min(1), 0],
    ['must be at most 100 (it is 101)', z.int().max(100), 101],
    ['must be more than 0 (it is 0)', z.number().positive(), 0],
    ['must be at least 0 (it is -1.5)', z.bigint().min(0n), -1_500_000_000n],
    [
      'must not be old (it is 2026-01-01T00:00:00.000Z)',
      z.date().refine(() => false, 'must not be old'),
      new Date('2026-01-01'),
    ],
    ['must be less than 5 (it is 5)', z.number().lt(5), 5],
    ['the input must be true or false (it is "yes")', z.boolean(), 'yes'],
    ['must not be empty', z.string().min(1), ''],
    ['must have at least 2 items (it has 1)', z.array(z.string()).min(2), ['x']],
    ['must have at most 3 characters (it is "long")', z.string().max(3), 'long'],
    ['must have at most 50 characters (it has 51)', z.string().max(50), 'x'.repeat(51)],
    ['must be short (it has 51 characters)', z.string().refine(() => false, 'must be short'), 'x'.repeat(51)],
    ['must have 2 characters (it is "long")', z.string().length(2), 'long'],
    ['must be one of: usd, diem (it is "eur")', z.enum(['usd', 'diem']), 'eur'],
    ['unknown field "b", "c"', z.strictObject({}), { b: 1, c: 2 }],
  ])('says “%s”', (words, schema, value) => {
    expect(refusalOf(schema, value)).toBe(words)
  })

  it('yields to the message of the schema', () => {
    expect(refusalOf(z.string().min(1, { error: 'needs a name' }), '')).toBe('needs a name')
  })
})
