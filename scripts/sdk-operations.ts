import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type FragmentDefinitionNode,
  type GraphQLInputType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  stripIgnoredCharacters,
  typeFromAST,
  validate,
  visit,
} from 'graphql'
import { schema } from '../schema/index.ts'
import { OperationTypes } from './operation-types.ts'

const SOURCE = join(import.meta.dirname, '../client/sdk/graphql/operations.graphql')

/** What the client's GraphQL documents need in TypeScript, by the file that has it. */
export interface SdkOperations {
  /** Enums and inputs of the schema. */
  schemaTypes: string
  /** One interface for each fragment. */
  records: string
  /** The documents with the types of their variables and answers. */
  operations: string
}

/** The client's GraphQL documents as TypeScript. */
export function printSdkOperations(): SdkOperations {
  const document = parse(readFileSync(SOURCE, 'utf8'))
  const errors = validate(schema, document)
  if (errors.length > 0) throw new Error(`${SOURCE}: ${errors.map(({ message }) => message).join('; ')}`)
  const types = new OperationTypes(schema)
  const fragments = new Map<string, FragmentDefinitionNode>()
  const operations: OperationDefinitionNode[] = []
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
    if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition)
  }
  const records = [...fragments.values()].map((fragment) => types.printFragment(fragment))
  const printed = operations.map((operation) => printOperation(operation, { types, fragments }))
  const named = types.printNamed()
  const namedImport = { names: [...named.keys()], from: './schema-types.ts' }
  const recordImport = { names: [...fragments.keys()], from: './records.ts' }
  const documentImport = { names: ['TypedDocument'], from: './typed-document.ts' }
  return {
    schemaTypes: printFile([...named.values()], []),
    records: printFile(records, [namedImport]),
    operations: printFile(printed, [recordImport, namedImport, documentImport]),
  }
}

function printFile(parts: readonly string[], imports: readonly { names: readonly string[]; from: string }[]): string {
  const text = parts.join('\n\n')
  const code = text.replaceAll(/\/\*\*.*?\*\/|'.*?'/g, '')
  const lines = imports.flatMap(({ names, from }) => {
    const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(code))
    return used.length === 0 ? [] : [`import type { ${used.join(', ')} } from '${from}'\n`]
  })
  return `/* Generated from operations.graphql and the schema by \`npm run generate\`. */\n${lines.join('')}\n${text}\n`
}

interface Surroundings {
  types: OperationTypes
  fragments: ReadonlyMap<string, FragmentDefinitionNode>
}

function printOperation(operation: OperationDefinitionNode, { types, fragments }: Surroundings): string {
  const name = operation.name?.value ?? ''
  const variables = (operation.variableDefinitions ?? []).map(({ variable, type }) => {
    const input = typeFromAST(schema, type as never) as GraphQLInputType
    return `  ${variable.name.value}${isNonNullType(input) ? '' : '?'}: ${types.inputType(input)}\n`
  })
  const used = usedFragments(operation, fragments).map((fragment) => print(fragment))
  const text = stripIgnoredCharacters([print(operation), ...used].join('\n'))
  const constant = name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()
  const variablesType = variables.length === 0 ? 'Record<string, never>' : `${name}Variables`
  return [
    ...(variables.length === 0 ? [] : [`export interface ${name}Variables {\n${variables.join('')}}`]),
    `export interface ${name}Data ${types.printRoot(operation)}`,
    `export const ${constant} =\n  '${text.replaceAll("'", "\\'")}' as TypedDocument<${name}Data, ${variablesType}>`,
  ].join('\n\n')
}

/** Those that the definition spreads, and those that they spread, each once. */
function usedFragments(
  root: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): FragmentDefinitionNode[] {
  const found = new Set<FragmentDefinitionNode>()
  const follow = (definition: OperationDefinitionNode | FragmentDefinitionNode): void => {
    visit(definition, {
      FragmentSpread({ name }) {
        const fragment = fragments.get(name.value)
        if (fragment === undefined || found.has(fragment)) return
        found.add(fragment)
        follow(fragment)
      },
    })
  }
  follow(root)
  return [...found]
}
