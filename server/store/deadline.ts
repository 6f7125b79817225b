/** Fails with `DeadlineExceeded` when `work` takes longer; the work itself is not stopped and its late end is ignored. */
export async function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_resolve, reject) => {
    const expire = (): void => reject(new DeadlineExceeded(deadlineMs))
    // After a stall of this process an answer may wait in the socket: the second turn lets the event loop read it first.
    timer = setTimeout(() => setImmediate(() => setImmediate(expire)), deadlineMs)
  })
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
  }
}

export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'

  constructor(deadlineMs: number) {
    super(`no answer within ${deadlineMs} ms`)
  }
}
