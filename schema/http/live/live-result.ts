import { type ExecutionResult, GraphQLError } from 'graphql'

/**
 * Binds the results of a subscription to its lifetime. Leaving the stream aborts the lifetime first, because a
 * generator that waits for its next event notices nothing else. A lifetime that was aborted with a GraphQLError sends
 * it as its last event.
 */
export function bindToLifetime(
  source: AsyncIterable<ExecutionResult>,
  lifetime: AbortController,
  toClientError: (error: unknown) => GraphQLError,
): AsyncIterableIterator<ExecutionResult> {
  const iterator = source[Symbol.asyncIterator]()
  const done: IteratorResult<ExecutionResult> = { done: true, value: undefined }
  let over = false
  const finish = (lastError?: GraphQLError): IteratorResult<ExecutionResult> => {
    if (over) return done
    over = true
    lifetime.abort()
    return lastError === undefined ? done : { done: false, value: { errors: [lastError] } }
  }
  return {
    async next() {
      if (over) return done
      try {
        const result = await iterator.next()
        return result.done === true ? finish(endReason(lifetime.signal)) : result
      } catch (error) {
        return finish(toClientError(error))
      }
    },
    async return() {
      finish()
      await iterator.return?.()
      return done
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function endReason(signal: AbortSignal): GraphQLError | undefined {
  return signal.aborted && signal.reason instanceof GraphQLError ? signal.reason : undefined
}
