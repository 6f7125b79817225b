import { createSourceEventStream, type DocumentNode, type ExecutionArgs, type ExecutionResult, execute } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GraphQLContext } from '../../context.ts'

type EventResult = Promise<ExecutionResult> | ExecutionResult
type Results = Map<DocumentNode, Map<string, EventResult>>

/**
 * Computes the result of an event once for all subscribers with the same account, document, variables and rights. A
 * feed gives them the same event object, which identifies the event.
 */
export function useSharedEvents(): Plugin<GraphQLContext> {
  const shared = new WeakMap<object, Results>()
  return {
    onSubscribe({ setSubscribeFn }) {
      setSubscribeFn(async (args: ExecutionArgs): Promise<AsyncIterable<ExecutionResult> | ExecutionResult> => {
        const source = await createSourceEventStream(args)
        if (!(Symbol.asyncIterator in source)) return source
        const sharers = toSharers(args)
        return mapEvents(source, (event) => resultOf(event, { args, sharers, shared }))
      })
    },
  }
}

interface EventOptions {
  args: ExecutionArgs
  sharers: string
  shared: WeakMap<object, Results>
}

function resultOf(event: unknown, { args, sharers, shared }: EventOptions): EventResult {
  if (typeof event !== 'object' || event === null) return executeEvent(event, args)
  const results: Results = shared.get(event) ?? new Map()
  shared.set(event, results)
  const ofDocument = results.get(args.document) ?? new Map<string, EventResult>()
  results.set(args.document, ofDocument)
  const result = ofDocument.get(sharers) ?? executeEvent(event, args)
  ofDocument.set(sharers, result)
  return result
}

/** With a context of its own, so data loaded for one event is not kept as long as the subscription. */
function executeEvent(rootValue: unknown, args: ExecutionArgs): EventResult {
  const contextValue = Object.assign({}, args.contextValue)
  return execute({ ...args, rootValue, contextValue })
}

/** Everything else that a result depends on. */
function toSharers({ contextValue, operationName, variableValues }: ExecutionArgs): string {
  const { caller } = contextValue as GraphQLContext
  const rights = caller === null ? null : [caller.accountId, caller.kind, caller.kind === 'key' ? caller.keyType : null]
  return JSON.stringify([rights, operationName, variableValues])
}

/** Written by hand, because leaving a generator that waits for its next event would wait for that event. */
function mapEvents(
  source: AsyncIterable<unknown>,
  toResult: (event: unknown) => EventResult,
): AsyncIterableIterator<ExecutionResult> {
  const events = source[Symbol.asyncIterator]()
  const done: IteratorResult<ExecutionResult> = { done: true, value: undefined }
  return {
    async next() {
      const event = await events.next()
      return event.done === true ? done : { done: false, value: await toResult(event.value) }
    },
    async return() {
      await events.return?.()
      return done
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
