import type { ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Caller } from '../../server/domain/auth/caller.ts'
import type { GraphQLContext } from '../context.ts'
import { refusal, toClientError } from '../errors.ts'
import type { ConnectionSlots } from './connection-slots.ts'
import { CredentialWatch } from './credential-watch.ts'
import { bindToLifetime } from './live-result.ts'

interface LiveResultsOptions {
  slots: ConnectionSlots
  /** Lifetimes of the subscriptions that are open, for the shutdown. */
  open: Set<AbortController>
}

/** Gives every subscription an end: its client leaves, its credential ends, or the server closes. */
export function useLiveResults({ slots, open }: LiveResultsOptions): Plugin<GraphQLContext> {
  return {
    onSubscribe({ subscribeFn, setSubscribeFn }) {
      setSubscribeFn(async (args): Promise<AsyncIterable<ExecutionResult> | ExecutionResult> => {
        const context: GraphQLContext = args.contextValue
        const { lifetime, requestId, services } = context
        const release = occupy(context, slots)
        if (release === undefined) {
          const message = 'This key has as many open streams and sockets as it may; close one first'
          return { errors: [refusal('TOO_MANY_CONNECTIONS', message, { status: 429, spec: false })] }
        }
        open.add(lifetime)
        const onEnd = (): void => {
          open.delete(lifetime)
          release()
        }
        try {
          const result: AsyncIterable<ExecutionResult> | ExecutionResult = await subscribeFn(args)
          if (Symbol.asyncIterator in result) {
            return bindToLifetime(result, {
              lifetime,
              onEnd,
              toClientError: (error) => toClientError(error, { log: services.log, requestId }),
            })
          }
          onEnd()
          return result
        } catch (error) {
          onEnd()
          throw error
        }
      })
    },
  }
}

/** Takes the key's slot and follows its credential for an event stream; a socket has done both for itself. */
function occupy(
  { transport, caller, lifetime, services }: GraphQLContext,
  slots: ConnectionSlots,
): (() => void) | undefined {
  if (transport.kind === 'socket' || transport.authorization === undefined || !isKey(caller)) return () => {}
  const free = slots.take(caller.keyId)
  if (free === undefined) return undefined
  const { authorization, remoteAddress } = transport
  const watch = new CredentialWatch({
    credential: { authorization, remoteAddress },
    caller,
    services,
    onEnd: (reason) => lifetime.abort(refusal('UNAUTHENTICATED', reason)),
  })
  return () => {
    watch.stop()
    free()
  }
}

function isKey(caller: Caller | null): caller is Caller & { kind: 'key' } {
  return caller?.kind === 'key'
}
