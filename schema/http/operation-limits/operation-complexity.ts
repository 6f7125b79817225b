import { complexityFromQuery } from '@pothos/plugin-complexity'
import {
  type DocumentNode,
  type ExecutionArgs,
  type GraphQLError,
  getOperationAST,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import { refusal } from '../../errors.ts'

/** The rejection of an operation whose pages and nesting add up to too much work, or undefined. */
export function findComplexityRefusal(operation: ExecutionArgs, complexityMax: number): GraphQLError | undefined {
  const selected = getOperationAST(operation.document, operation.operationName)
  // Execution reports operations that cannot be chosen and invalid variables.
  if (selected == null || !hasUsableVariables(operation, selected)) return undefined
  const { complexity } = complexityFromQuery(only(operation.document, selected), {
    schema: operation.schema,
    variables: { ...operation.variableValues },
  })
  if (complexity <= complexityMax) return undefined
  return refusal(
    'QUERY_TOO_COMPLEX',
    `The operation costs ${complexity} points (one per object, times the page sizes above it); the maximum is ${complexityMax}. Request smaller pages or fewer nested lists.`,
  )
}

function hasUsableVariables({ schema, variableValues }: ExecutionArgs, selected: OperationDefinitionNode): boolean {
  const definitions = selected.variableDefinitions ?? []
  // Without a maximum it would describe each of perhaps 80,000 errors, which takes seconds.
  return getVariableValues(schema, definitions, { ...variableValues }, { maxErrors: 1 }).errors === undefined
}

/** The measurement uses the first operation of a document, which may not be the one that runs. */
function only(document: DocumentNode, selected: OperationDefinitionNode): DocumentNode {
  const fragments = document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
  return { ...document, definitions: [selected, ...fragments] }
}
