import { lexicographicSortSchema, printSchema } from 'graphql'
import { schema } from './index.ts'

/** The schema as SDL, sorted so that moving a definition in the sources changes nothing. */
export function printGraphqlSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}
