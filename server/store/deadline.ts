/** A timer that fires this late means that this process stood still, not that the other side was slow. */
const LATENESS_MS = 10
const EXTENSIONS_MAX = 4

/**
 * Fails with `DeadlineExceeded` when `work` takes longer; the work itself is not stopped and its late end is ignored.
 * Time in which this process stood still does not count, or every long computation would look like a lost server.
 */
export function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  // By hand, since a race with a second promise would cost every request several turns.
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const arm = (extensions: number): void => {
      const dueAtMs = performance.now() + deadlineMs
      timer = setTimeout(() => {
        if (extensions > 0 && performance.now() - dueAtMs > LATENESS_MS) arm(extensions - 1)
        // One more turn of the event loop reads an answer that waits in the socket already.
        else setImmediate(() => reject(new DeadlineExceeded(deadlineMs)))
      }, deadlineMs)
    }
    arm(EXTENSIONS_MAX)
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      settle()
    }
    work.then(
      (value) => end(() => resolve(value)),
      (error: Error) => end(() => reject(error)),
    )
  })
}

export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'

  constructor(deadlineMs: number) {
    super(`no answer within ${deadlineMs} ms`)
  }
}
