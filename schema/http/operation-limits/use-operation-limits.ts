import type { Plugin } from 'graphql-yoga'
import type { GraphQLContext } from '../../context.ts'
import type { GraphqlLimits } from '../limits.ts'
import { findComplexityRefusal } from './operation-complexity.ts'
import { createOperationShapeRule } from './operation-shape.ts'
import { parseLimited } from './parse-limited.ts'
import { runWithin } from './run-within.ts'

/** Rejects an oversized operation as early as possible: at parsing, at validation, before execution, or by time. */
export function useOperationLimits(limits: GraphqlLimits): Plugin<GraphQLContext> {
  const shapeRule = createOperationShapeRule(limits)
  return {
    onParse({ setParseFn }) {
      setParseFn((source, options) => parseLimited(source, { ...options, maxTokens: limits.tokensMax }))
    },
    onValidate({ addValidationRule }) {
      addValidationRule(shapeRule)
    },
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn((args) => {
        const { lifetime }: GraphQLContext = args.contextValue
        const refused = findComplexityRefusal(args, limits.complexityMax)
        if (refused !== undefined) return { errors: [refused] }
        // The executor stops between fields once the signal aborts; the hook's type lacks this argument.
        const cancellable = { ...args, signal: lifetime.signal }
        return runWithin(limits.executionTimeoutMs, lifetime, () => executeFn(cancellable))
      })
    },
    onSubscribe({ subscribeFn, setSubscribeFn }) {
      setSubscribeFn((args) => {
        const refused = findComplexityRefusal(args, limits.complexityMax)
        return refused === undefined ? subscribeFn(args) : { errors: [refused] }
      })
    },
  }
}
