import { expect, test } from 'vitest'
import { z } from 'zod'
import { described, safeParseDescribed } from '../../../../server/domain/validation/described.ts'

test('messages of the service apply to its own parsers and leave zod unchanged for everybody else', () => {
  const schema = z.strictObject({ name: z.string() })
  expect(safeParseDescribed(schema, {}).error?.issues).toMatchObject([{ path: ['name'], message: 'is missing' }])
  expect(described(schema)['~standard'].validate({})).toMatchObject({ issues: [{ message: 'is missing' }] })
  expect(z.config().customError).toBeUndefined()
  expect(schema.safeParse({}).error?.issues[0]?.message).toMatch(/^Invalid input/)
})
