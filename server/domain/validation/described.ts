import type { z } from 'zod'
import { describeIssue } from './messages.ts'

/** The interface of https://standardschema.dev, so that libraries can call the parser themselves. */
export interface DescribedSchema<Input, Output> {
  '~standard': {
    version: 1
    vendor: 'zod'
    validate: (value: unknown) => { value: Output } | { issues: readonly z.core.$ZodIssue[] }
    /** Never set; it only carries the types. */
    types?: { input: Input; output: Output }
  }
}

/** The schema with the messages of this service instead of zod's, for libraries that parse with it themselves. */
export function described<Schema extends z.ZodType>(
  schema: Schema,
): DescribedSchema<z.input<Schema>, z.output<Schema>> & { schema: Schema } {
  return {
    schema,
    '~standard': {
      version: 1,
      vendor: 'zod',
      validate: (value) => {
        const parsed = safeParseDescribed(schema, value)
        return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues }
      },
    },
  }
}

/** Like `schema.safeParse`, with this service's messages instead of zod's. */
export function safeParseDescribed<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  return schema.safeParse(value, { error: describeIssue })
}
