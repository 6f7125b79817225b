import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface SubscriberJob {
  url: string
  keys: string[]
  socketsPerKey: number
}

export interface SubscriberReport {
  deliveries: { requestId: string; receivedAtMs: number }[]
}

export interface Subscribers extends Disposable {
  /** Resolves when every socket has its first event. */
  open(job: SubscriberJob): Promise<void>
  /** Deliveries since the last report. */
  report(): Promise<SubscriberReport>
}

/** Clients that watch the requests of their accounts, in a separate process. */
export function startSubscribers(signal: AbortSignal): Subscribers {
  const child = fork(fileURLToPath(new URL('subscriber-client.ts', import.meta.url)), { serialization: 'advanced' })
  const stop = () => void child.kill('SIGKILL')
  process.once('exit', stop)
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error('the process of the subscribers ended')
  })
  ended.catch(() => undefined)
  const ask = async (message: object): Promise<SubscriberReport> => {
    child.send(message)
    const [report] = (await Promise.race([once(child, 'message', { signal }), ended])) as [SubscriberReport]
    return report
  }
  return {
    open: async (job) => void (await ask({ open: job })),
    report: () => ask({ report: true }),
    [Symbol.dispose]: stop,
  }
}
