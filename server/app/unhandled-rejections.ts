import type { Log } from '../domain/log.ts'

/**
 * A library may start a call and not wait for it, so that its failure reaches nobody. It says nothing about the state of
 * this process, whose other requests go on.
 */
export function logUnhandledRejections(log: Log): void {
  process.on('unhandledRejection', (error) => log.error('a call failed without a handler for its error', { error }))
}
