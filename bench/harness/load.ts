import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** One request, sent over and over. */
export interface Target {
  origin: string
  path: string
  headers: Record<string, string>
  body: string
  /** Text that every correct response contains. */
  expected: string
}

export interface LoadJob {
  target: Target
  requests: number
  connections: number
  /** Set: an open loop with this constant arrival rate; otherwise every connection waits for its last response. */
  requestsPerSecond?: number | undefined
}

export interface LoadOutcome {
  seconds: number
  /** Ascending. */
  latenciesMs: Float64Array
  failures: number
  /** The response to the first failed request. */
  sample: string | null
}

export interface LoadClient extends Disposable {
  /** Fails if any response is not as expected, because figures of wrong responses mean nothing. */
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
