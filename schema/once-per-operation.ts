import type { GraphQLContext } from './context.ts'

/** One read for all fields of an operation that need it, because an operation concerns one account. */
export function oncePerOperation<Value>(
  read: (accountId: string, context: GraphQLContext) => Promise<Value>,
): (accountId: string, context: GraphQLContext) => Promise<Value> {
  const loaded = new WeakMap<GraphQLContext, Promise<Value>>()
  return (accountId, context) => {
    const value = loaded.get(context) ?? read(accountId, context)
    loaded.set(context, value)
    return value
  }
}
