import type { ExecutionResult, GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { GraphQLContext } from '../../context.ts'
import { refusal, toClientError } from '../../errors.ts'
import { ConnectionCredential } from './connection-credential.ts'
import type { ConnectionSlots } from './connection-slots.ts'
import { bindToLifetime } from './live-result.ts'
import type { OpenStreams } from './open-streams.ts'

interface LiveResultsOptions {
  slots: ConnectionSlots
  open: OpenStreams
}

/** Ends every subscription when its client disconnects, its credential ends or the server closes. */
export function useLiveResults({ slots, open }: LiveResultsOptions): Plugin<GraphQLContext> {
  return {
    onSubscribe({ subscribeFn, setSubscribeFn }) {
      setSubscribeFn(async (args): Promise<AsyncIterable<ExecutionResult> | ExecutionResult> => {
        const context: GraphQLContext = args.contextValue
        const { lifetime, requestId, services } = context
        const refused = begin(context, { slots, open })
        if (refused !== undefined) return { errors: [refused] }
        const clean = (error: unknown): GraphQLError => toClientError(error, { log: services.log, requestId })
        try {
          const result: AsyncIterable<ExecutionResult> | ExecutionResult = await subscribeFn(args)
          if (Symbol.asyncIterator in result) return bindToLifetime(result, lifetime, clean)
          lifetime.abort()
          return result
        } catch (error) {
          // An invalid argument is thrown before there is a field that could fail.
          lifetime.abort()
          return { errors: [clean(error)] }
        }
      })
    },
  }
}

/** Occupies the resources of a subscription until its lifetime is aborted, or returns the reason for rejecting it. */
function begin(context: GraphQLContext, { slots, open }: LiveResultsOptions): GraphQLError | undefined {
  const { lifetime } = context
  if (!open.add(lifetime)) {
    return refusal('UNAVAILABLE', 'The server is shutting down; connect again', { status: 503, spec: false })
  }
  const release = occupy(context, slots)
  const end = (): void => {
    open.remove(lifetime)
    release?.()
  }
  if (release === undefined) {
    end()
    const message = 'This key or wallet has reached its maximum of open streams and sockets; close one first'
    return refusal('TOO_MANY_CONNECTIONS', message, { status: 429, spec: false })
  }
  lifetime.signal.addEventListener('abort', end, { once: true })
  // The client may have disconnected before its subscription began.
  if (lifetime.signal.aborted) end()
  return undefined
}

/**
 * For an event stream, takes a slot of the key or wallet and watches the credential; a socket has already done both.
 */
function occupy({ transport, lifetime, services }: GraphQLContext, slots: ConnectionSlots): (() => void) | undefined {
  if (transport.kind === 'socket' || transport.identity === null) return () => {}
  const { identity } = transport
  const free = slots.take(identity.subject)
  if (free === undefined) return undefined
  const onEnd = (reason: string): void => lifetime.abort(refusal('UNAUTHENTICATED', reason))
  const watch = new ConnectionCredential({ identity, services, onEnd })
  return () => {
    watch.stop()
    free()
  }
}
