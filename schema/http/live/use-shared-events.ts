import { createSourceEventStream, type DocumentNode, type ExecutionArgs, type ExecutionResult, execute } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GraphQLContext } from '../../context.ts'

type EventResult = Promise<ExecutionResult> | ExecutionResult
type Results = Map<DocumentNode, Map<string, EventResult>>

/**
 * Makes the result of an event once for all subscribers that would get the same: those of one account with one document,
 * one set of variables and one set of rights. A feed gives them the same event object, by which they are told.
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

/** With a context of its own, so that what is loaded for one event is not kept for as long as the subscription. */
function executeEvent(rootValue: unknown, args: ExecutionArgs): EventResult {
  const contextValue = Object.assign({}, args.contextValue)
  return execute({ ...args, rootValue, contextValue })
}

/** Whatever else a result depends on. */
function toSharers({ contextValue, operationName, variableValues }: ExecutionArgs): string {
  const { caller } = contextValue as GraphQLContext
  const rights = caller === null ? null : [caller.accountId, caller.kind, caller.kind === 'key' ? caller.keyType : null]
  return JSON.stringify([rights, operationName, variableValues])
}

/** By hand, since leaving a generator that waits for its next event would wait for that event. */
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
