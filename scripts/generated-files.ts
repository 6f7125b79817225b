import { z } from 'zod'
import { printGraphqlSchema } from '../schema/print.ts'
import { ConfigFile } from '../server/config/file/schema.ts'
import { printSdkOperations } from './sdk-operations.ts'

export interface GeneratedFile {
  /** From the root of the project. */
  path: string
  print(): string
}

/** Every file in the repository that sources determine. */
export const GENERATED_FILES: readonly GeneratedFile[] = [
  { path: 'sluice.schema.json', print: printConfigSchema },
  { path: 'schema/schema.graphql', print: printGraphqlSchema },
  { path: 'client/sdk/graphql/schema-types.ts', print: () => printSdkOperations().schemaTypes },
  { path: 'client/sdk/graphql/records.ts', print: () => printSdkOperations().records },
  { path: 'client/sdk/graphql/operations.ts', print: () => printSdkOperations().operations },
]

/** For editors, which know draft 7 best. */
function printConfigSchema(): string {
  const schema = z.toJSONSchema(ConfigFile, { io: 'input', target: 'draft-7' })
  return `${JSON.stringify({ title: 'sluice.yaml', ...schema }, null, 2)}\n`
}
