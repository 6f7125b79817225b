import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** One request, sent over and over. */
export interface Target {
  origin: string
  path: string
  headers: Record<string, string>
  body: string
  /** Stands in every right answer. */
  expected: string
}

export interface LoadJob {
  target: Target
  requests: number
  connections: number
  /** Set: an open loop with this constant arrival rate; else every connection sends when its last answer is there. */
  requestsPerSecond?: number | undefined
}

export interface LoadOutcome {
  seconds: number
  /** Ascending. */
  latenciesMs: Float64Array
  failures: number
  /** What the first failed request got. */
  sample: string | null
}

export interface LoadClient extends Disposable {
  /** Fails when any request was not answered as expected: figures of wrong answers mean nothing. */
  run(job: LoadJob): Promise<LoadOutcome>
}

export function startLoadClient(signal: AbortSignal): LoadClient {
  const child = fork(fileURLToPath(new URL('load-client.ts', import.meta.url)), { serialization: 'advanced' })
  const stop = () => void child.kill('SIGKILL')
  process.once('exit', stop)
  return {
    async run(job) {
      child.send(job)
      const [outcome] = (await once(child, 'message', { signal })) as [LoadOutcome]
      if (outcome.failures > 0) {
        throw new Error(
          `${outcome.failures} of ${job.requests} requests to ${job.target.origin}${job.target.path} failed, the first with ${outcome.sample}`,
        )
      }
      return outcome
    },
    [Symbol.dispose]: stop,
  }
}
