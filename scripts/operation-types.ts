import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  type InlineFragmentNode,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'

/** How scalars look in JSON; everything else is text. */
const SCALARS: Readonly<Record<string, string>> = {
  Int: 'number',
  Float: 'number',
  Boolean: 'boolean',
  Count: 'number',
}

/** Prints the TypeScript types of GraphQL selections; remembers the enums and inputs that they name. */
export class OperationTypes {
  readonly #schema: GraphQLSchema
  readonly #named = new Map<string, string>()

  constructor(schema: GraphQLSchema) {
    this.#schema = schema
  }

  /** Every enum and input object that was named so far, by name. */
  printNamed(): ReadonlyMap<string, string> {
    return new Map([...this.#named.entries()].toSorted(([a], [b]) => a.localeCompare(b)))
  }

  printFragment({ name, typeCondition, selectionSet }: FragmentDefinitionNode): string {
    const type = this.#schema.getType(typeCondition.name.value)
    if (type === undefined) throw new Error(`no type ${typeCondition.name.value}`)
    return `${docstring(type.description, '')}export interface ${name.value} ${this.#object(selectionSet, type, '')}`
  }

  /** The object type of a whole operation. */
  printRoot({ operation, selectionSet }: OperationDefinitionNode): string {
    const root = this.#schema.getRootType(operation)
    if (root == null) throw new Error(`the schema has no ${operation}`)
    return this.#object(selectionSet, root, '')
  }

  inputType(type: GraphQLInputType): string {
    if (isNonNullType(type)) return this.#nonNullInput(type.ofType)
    return `${this.#nonNullInput(type)} | null | undefined`
  }

  #nonNullInput(type: GraphQLInputType): string {
    if (isListType(type)) return `readonly ${wrap(this.inputType(type.ofType).replace(' | undefined', ''))}[]`
    const named = getNamedType(type)
    if (isInputObjectType(named)) return this.#inputObject(named)
    return this.#leaf(named)
  }

  #inputObject(type: GraphQLInputObjectType): string {
    if (this.#named.has(type.name)) return type.name
    // Before its fields, since inputs may name themselves.
    this.#named.set(type.name, '')
    if (type.isOneOf) return this.#oneOf(type)
    const fields = Object.values(type.getFields()).map((field) => {
      const optional = !isNonNullType(field.type) || field.defaultValue !== undefined
      const text = this.inputType(field.type)
      return `${docstring(field.description, '  ')}  ${field.name}${optional ? '?' : ''}: ${text}\n`
    })
    this.#named.set(type.name, `${docstring(type.description, '')}export interface ${type.name} {\n${fields.join('')}}`)
    return type.name
  }

  /** Exactly one of its fields is given. */
  #oneOf(type: GraphQLInputObjectType): string {
    const fields = Object.values(type.getFields())
    const members = fields.map(({ name, type: fieldType }) => {
      const others = fields.filter((other) => other.name !== name).map((other) => `; ${other.name}?: never`)
      return `  | { ${name}: ${this.#nonNullInput(fieldType)}${others.join('')} }`
    })
    this.#named.set(type.name, `${docstring(type.description, '')}export type ${type.name} =\n${members.join('\n')}`)
    return type.name
  }

  #output(type: GraphQLOutputType, field: FieldNode, indent: string): string {
    if (isNonNullType(type)) return this.#nonNullOutput(type.ofType, field, indent)
    return `${this.#nonNullOutput(type, field, indent)} | null`
  }

  #nonNullOutput(type: GraphQLOutputType, field: FieldNode, indent: string): string {
    if (isListType(type)) return `${wrap(this.#output(type.ofType, field, indent))}[]`
    const named = getNamedType(type)
    if (isLeafType(named) || field.selectionSet === undefined) return this.#leaf(named)
    return this.#selection(field.selectionSet, named, indent)
  }

  /** A lone fragment gives its name, inline fragments one member for each possible type. */
  #selection(set: SelectionSetNode, type: GraphQLNamedType, indent: string): string {
    const [first, ...rest] = set.selections
    if (first?.kind === Kind.FRAGMENT_SPREAD && rest.length === 0) return first.name.value
    if (!isAbstractType(type) || !set.selections.some(({ kind }) => kind === Kind.INLINE_FRAGMENT)) {
      return this.#object(set, type, indent)
    }
    const members = this.#schema.getPossibleTypes(type).map((member) => {
      const selections = set.selections.flatMap((selection) => {
        if (selection.kind !== Kind.INLINE_FRAGMENT) return [selection]
        return appliesTo(selection, member.name) ? selection.selectionSet.selections : []
      })
      return this.#object({ ...set, selections }, member, indent)
    })
    return `(${members.join(' | ')})`
  }

  #object({ selections }: SelectionSetNode, type: GraphQLNamedType, indent: string): string {
    const inner = `${indent}  `
    const lines = selections.flatMap((selection) => {
      if (selection.kind !== Kind.FIELD) return []
      const name = selection.alias?.value ?? selection.name.value
      if (selection.name.value === '__typename') return [`${inner}${name}: '${type.name}'\n`]
      const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[selection.name.value] : undefined
      if (field === undefined) return []
      return [`${docstring(field.description, inner)}${inner}${name}: ${this.#output(field.type, selection, inner)}\n`]
    })
    const spreads = selections.flatMap((selection) =>
      selection.kind === Kind.FRAGMENT_SPREAD ? [`${selection.name.value} & `] : [],
    )
    return `${spreads.join('')}{\n${lines.join('')}${indent}}`
  }

  /** Enums stay open: a newer server may have more values. */
  #leaf(type: GraphQLNamedType): string {
    if (!isEnumType(type)) return SCALARS[type.name] ?? 'string'
    const values = type.getValues().map(({ name }) => `'${name}'`)
    const text = `export type ${type.name} = ${[...values, '(string & {})'].join(' | ')}`
    this.#named.set(type.name, `${docstring(type.description, '')}${text}`)
    return type.name
  }
}

function appliesTo({ typeCondition }: InlineFragmentNode, name: string): boolean {
  return typeCondition === undefined || typeCondition.name.value === name
}

function wrap(type: string): string {
  return type.includes(' ') && !type.startsWith('{') ? `(${type})` : type
}

function docstring(description: string | null | undefined, indent: string): string {
  return description == null ? '' : `${indent}/** ${description.replaceAll('\n', ' ')} */\n`
}
