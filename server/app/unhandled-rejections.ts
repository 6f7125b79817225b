import type { Log } from '../domain/log.ts'

/**
 * A library may start a call without awaiting it, so nobody handles its failure. The failure says nothing about the
 * state of this process, whose other requests continue.
 */
export function logUnhandledRejections(log: Log): void {
  process.on('unhandledRejection', (error) => log.error('a call failed without a handler for its error', { error }))
}
