import type { ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GraphQLContext } from '../context.ts'
import { toClientError } from '../errors.ts'

/** Returns only errors that the caller may read, and logs the others with the request's id. */
export function useClientErrors(): Plugin<GraphQLContext> {
  return {
    onExecute() {
      return {
        onExecuteDone({ args, result, setResult }) {
          if (!(Symbol.asyncIterator in result)) setResult(cleanResult(result, args.contextValue))
        },
      }
    },
    onSubscribe() {
      return {
        onSubscribeResult({ args, result, setResult }) {
          if (!(Symbol.asyncIterator in result)) return setResult(cleanResult(result, args.contextValue))
          return { onNext: ({ result: event, setResult: setEvent }) => setEvent(cleanResult(event, args.contextValue)) }
        },
      }
    },
  }
}

function cleanResult(result: ExecutionResult, { services, requestId }: GraphQLContext): ExecutionResult {
  if (result.errors === undefined) return result
  return { ...result, errors: result.errors.map((error) => toClientError(error, { log: services.log, requestId })) }
}
