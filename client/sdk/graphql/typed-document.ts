/**
 * A GraphQL document with the types of its data and variables, such as documents of GraphQL Code Generator
 * (`documentMode: 'string'`).
 */
export interface TypedDocument<Data, Variables> {
  toString(): string
  /** For the compiler only. */
  readonly __apiType?: (variables: Variables) => Data
}

/** For variables that are all optional, none may be given. */
export type VariablesArguments<Variables, Options> =
  Record<string, never> extends Variables
    ? [variables?: Variables, options?: Options]
    : [variables: Variables, options?: Options]
