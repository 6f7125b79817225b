/** A deadline is split into this many steps, each lasting at least one whole turn of the event loop. */
const STEPS = 5

/**
 * Fails with `DeadlineExceeded` if `work` takes longer; the work is not stopped and its late result is ignored. Time in
 * which this process was busy does not count: a step that ends late counts as no longer than planned, and data that
 * arrived in the meantime is read before the next step. Otherwise every burst of requests would look like a lost
 * server.
 */
export function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  // Written by hand, because racing a second promise would cost every request several turns.
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    let ended = false
    const count = (stepsLeft: number): void => {
      if (ended) return
      if (stepsLeft === 0) return reject(new DeadlineExceeded(deadlineMs))
      // After the poll phase, which reads a response that already waits in the socket.
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
