import type { Log } from '../domain/log.ts'

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** A signal that comes sooner is the first one again: npm passes on the Ctrl+C that the terminal has sent to us as well. */
const REPEAT_MS = 1_000

/** The exit code of a process that did not wait for its running requests. */
const CUT_SHORT = 130

/**
 * On SIGINT or SIGTERM closes the application and ends the process: exit code 0, or 1 when closing fails. A second signal
 * means that somebody does not want to wait, and ends it at once with 130.
 */
export function stopOnSignals(close: () => Promise<void>, log: Log): void {
  let stopping = false
  let mayCutShort = false
  const stop = (): void => {
    if (mayCutShort) process.exit(CUT_SHORT)
    if (stopping) return
    stopping = true
    setTimeout(() => (mayCutShort = true), REPEAT_MS)
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('shutdown failed', { error })
        process.exit(1)
      },
    )
  }
  for (const signal of STOP_SIGNALS) process.on(signal, stop)
}
