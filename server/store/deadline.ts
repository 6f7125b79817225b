/** A deadline is counted in as many steps, each of which is at least one whole turn of the event loop. */
const STEPS = 5

/**
 * Fails with `DeadlineExceeded` when `work` takes longer; the work itself is not stopped and its late end is ignored.
 * Time in which this process was busy does not count: a step that ends late counts as no longer than it should have
 * been, and what has arrived in the meantime is read before the next one. Otherwise every burst of requests would look
 * like a lost server.
 */
export function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  // By hand, since a race with a second promise would cost every request several turns.
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    let ended = false
    const count = (stepsLeft: number): void => {
      if (ended) return
      if (stepsLeft === 0) return reject(new DeadlineExceeded(deadlineMs))
      // After the poll phase, in which a response that waits in the socket already is read.
      timer = setTimeout(() => setImmediate(count, stepsLeft - 1), deadlineMs / STEPS)
    }
    const end = (settle: () => void): void => {
      ended = true
      clearTimeout(timer)
      settle()
    }
    count(STEPS)
    work.then(
      (value) => end(() => resolve(value)),
      (error: Error) => end(() => reject(error)),
    )
  })
}

export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'

  constructor(deadlineMs: number) {
    super(`no response within ${deadlineMs} ms`)
  }
}
