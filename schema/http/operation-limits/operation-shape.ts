import {
  type ASTVisitor,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql'
import { refusal } from '../../errors.ts'
import type { GraphqlLimits } from '../limits.ts'

/** The size of an operation with its fragments expanded. */
interface Shape {
  depth: number
  aliases: number
  directives: number
  fields: number
}

type ShapeLimits = Pick<GraphqlLimits, 'depthMax' | 'aliasesMax' | 'directivesMax' | 'rootFieldsMax'>

const EMPTY: Shape = { depth: 0, aliases: 0, directives: 0, fields: 0 }

/** A validation rule that limits depth, aliases, root fields and directives of each operation. */
export function createOperationShapeRule(limits: ShapeLimits): (context: ValidationContext) => ASTVisitor {
  return function operationShape(context) {
    return {
      OperationDefinition(operation) {
        for (const [code, actual, max, what] of violations(measureOperation(operation, context), limits)) {
          context.reportError(
            refusal(code, `The operation has ${what} ${format(actual)}; the maximum is ${max}. Split it.`),
          )
        }
      },
    }
  }
}

type Violation = [code: string, actual: number, max: number, what: string]

function violations(shape: Shape, limits: ShapeLimits): Violation[] {
  const checks: Violation[] = [
    ['QUERY_TOO_DEEP', shape.depth, limits.depthMax, 'a depth of'],
    ['TOO_MANY_ALIASES', shape.aliases, limits.aliasesMax, 'an alias count of'],
    ['TOO_MANY_ROOT_FIELDS', shape.fields, limits.rootFieldsMax, 'a root field count of'],
    ['TOO_MANY_DIRECTIVES', shape.directives, limits.directivesMax, 'a directive count of'],
  ]
  return checks.filter(([, actual, max]) => actual > max)
}

/** Fragments that spread each other multiply to astronomical counts. */
function format(count: number): string {
  return count > 1_000_000 ? 'more than a million' : String(count)
}

function measureOperation(operation: OperationDefinitionNode, context: ValidationContext): Shape {
  const measured = new Map<FragmentDefinitionNode, Shape>()
  const shape = measure(operation.selectionSet, { context, measured })
  const variables = operation.variableDefinitions ?? []
  const ownDirectives = [operation, ...variables].reduce((sum, node) => sum + (node.directives?.length ?? 0), 0)
  return { ...shape, directives: shape.directives + ownDirectives }
}

interface Traversal {
  context: ValidationContext
  /**
   * Each fragment is measured once, however often it is spread; a cyclic one counts as empty and another rule rejects
   * it.
   */
  measured: Map<FragmentDefinitionNode, Shape>
}

/** `fields` counts the selections of this level only: at the top of an operation those are its root fields. */
function measure(selectionSet: SelectionSetNode, traversal: Traversal): Shape {
  const total = { ...EMPTY }
  for (const selection of selectionSet.selections) {
    const shape = measureSelection(selection, traversal)
    total.depth = Math.max(total.depth, shape.depth)
    total.aliases += shape.aliases
    total.fields += shape.fields
    total.directives += shape.directives + (selection.directives?.length ?? 0)
  }
  return total
}

function measureSelection(selection: SelectionNode, traversal: Traversal): Shape {
  if (selection.kind === Kind.INLINE_FRAGMENT) return measure(selection.selectionSet, traversal)
  if (selection.kind === Kind.FRAGMENT_SPREAD) return measureFragment(selection.name.value, traversal)
  const below = selection.selectionSet === undefined ? EMPTY : measure(selection.selectionSet, traversal)
  // graphql limits introspection by a rule of its own; tools need more depth for it.
  const depth = selection.name.value.startsWith('__') ? 1 : below.depth + 1
  return { ...below, depth, fields: 1, aliases: below.aliases + (selection.alias === undefined ? 0 : 1) }
}

function measureFragment(name: string, traversal: Traversal): Shape {
  const fragment = traversal.context.getFragment(name)
  if (fragment == null) return EMPTY
  const known = traversal.measured.get(fragment)
  if (known !== undefined) return known
  traversal.measured.set(fragment, EMPTY)
  const shape = measure(fragment.selectionSet, traversal)
  traversal.measured.set(fragment, shape)
  return shape
}
