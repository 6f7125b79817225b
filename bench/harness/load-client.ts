import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'undici'
import type { LoadJob, LoadOutcome, Target } from './load.ts'

/** The child process of `load.ts`, so the client's CPU time never counts as a server's. */
const pools = new Map<string, Pool>()

function poolOf(origin: string, connections: number): Pool {
  const key = `${origin} ${connections}`
  const pool = pools.get(key) ?? new Pool(origin, { connections, pipelining: 1 })
  pools.set(key, pool)
  return pool
}

async function send(pool: Pool, target: Target): Promise<string | undefined> {
  const { path, headers, body, expected } = target
  const answer = await pool.request({ method: 'POST', path, headers, body })
  const text = await answer.body.text()
  return answer.statusCode === 200 && text.includes(expected)
    ? undefined
    : `${answer.statusCode}: ${text.slice(0, 400)}`
}

class Recorder {
  readonly latenciesMs: Float64Array
  failures = 0
  sample: string | null = null
  #count = 0

  constructor(requests: number) {
    this.latenciesMs = new Float64Array(requests)
  }

  async time(startMs: number, request: Promise<string | undefined>): Promise<void> {
    const fault = await request.catch((error: unknown) => String(error))
    this.latenciesMs[this.#count++] = performance.now() - startMs
    if (fault === undefined) return
    this.failures++
    this.sample ??= fault
  }
}

/** Every connection sends its next request after the response to the last one. */
async function runClosedLoop(job: LoadJob, recorder: Recorder): Promise<void> {
  const pool = poolOf(job.target.origin, job.connections)
  let left = job.requests
  const worker = async () => {
    while (left-- > 0) await recorder.time(performance.now(), send(pool, job.target))
  }
  await Promise.all(Array.from({ length: job.connections }, worker))
}

/**
 * Requests are sent by the clock, whether or not earlier ones have a response; latency counts from when each was due.
 */
async function runOpenLoop(job: LoadJob, recorder: Recorder): Promise<void> {
  const pool = poolOf(job.target.origin, job.connections)
  const gapMs = 1_000 / (job.requestsPerSecond ?? 1)
  const startMs = performance.now()
  const requests: Promise<void>[] = []
  for (let index = 0; index < job.requests; index++) {
    const dueMs = startMs + index * gapMs
    const earlyMs = dueMs - performance.now()
    if (earlyMs > 0) await wait(Math.ceil(earlyMs))
    requests.push(recorder.time(dueMs, send(pool, job.target)))
  }
  await Promise.all(requests)
}

async function runJob(job: LoadJob): Promise<LoadOutcome> {
  const recorder = new Recorder(job.requests)
  const startMs = performance.now()
  await (job.requestsPerSecond === undefined ? runClosedLoop : runOpenLoop)(job, recorder)
  return {
    seconds: (performance.now() - startMs) / 1_000,
    latenciesMs: recorder.latenciesMs.toSorted(),
    failures: recorder.failures,
    sample: recorder.sample,
  }
}

process.on('message', async (job: LoadJob) => {
  process.send?.(await runJob(job))
})
process.on('disconnect', () => process.exit())
