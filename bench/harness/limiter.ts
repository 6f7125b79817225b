import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { WindowCharge } from '../../server/domain/rate-limits/window-store.ts'

export interface Arrival {
  atMs: number
  weight: number
}

/** When an arrival was booked; a weight of 0 was rejected. */
export type Booking = Arrival

export interface LimiterJob {
  window: Omit<WindowCharge, 'weight'>
  arrivals: Arrival[]
}

export interface LimiterFleet extends Disposable {
  /** Starts the arrivals of all processes at once, and waits for the last of them. */
  run(window: LimiterJob['window'], arrivalsOf: readonly Arrival[][]): Promise<Booking[]>
}

/** Processes that share one Redis, each with its own connection. */
export async function startLimiters(
  processes: number,
  { keyPrefix, signal }: { keyPrefix: string; signal: AbortSignal },
): Promise<LimiterFleet> {
  const path = fileURLToPath(new URL('limiter-process.ts', import.meta.url))
  const children = Array.from({ length: processes }, () => fork(path, [keyPrefix]))
  const stop = (): void => {
    for (const child of children) child.kill('SIGKILL')
  }
  process.once('exit', stop)
  await Promise.all(children.map((child) => once(child, 'message', { signal })))
  return {
    run: async (window, arrivalsOf) => {
      const jobs = children.flatMap((child, index) => {
        const arrivals = arrivalsOf[index] ?? []
        return arrivals.length === 0 ? [] : [runOn(child, { window, arrivals }, signal)]
      })
      return (await Promise.all(jobs)).flat()
    },
    [Symbol.dispose]: () => {
      process.off('exit', stop)
      stop()
    },
  }
}

async function runOn(child: ChildProcess, job: LimiterJob, signal: AbortSignal): Promise<Booking[]> {
  const answer = once(child, 'message', { signal }) as Promise<[Booking[]]>
  child.send(job)
  const [bookings] = await answer
  return bookings
}
