import type { Log } from '../domain/log.ts'

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * A signal within this time is a copy of the first: npm forwards the Ctrl+C that the terminal also sent to this
 * process.
 */
const REPEAT_MS = 1_000

/** Exit code of a process that did not wait for its running requests. */
const CUT_SHORT = 130

/**
 * On SIGINT or SIGTERM, closes the application and ends the process: exit code 0, or 1 if closing fails. A second
 * signal ends it at once with 130.
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
