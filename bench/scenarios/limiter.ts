import { randomUUID } from 'node:crypto'
import { type Arrival, type LimiterFleet, startLimiters } from '../harness/limiter.ts'
import { deleteKeys } from '../harness/redis-server.ts'
import { judge, type Report } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { permittedBy, windowsOver } from '../harness/sliding-log.ts'

const PROCESSES = [1, 3, 5] as const
const LOADS = [0.9, 1, 1.5, 2] as const
const START_MS = Date.UTC(2026, 0, 1)

interface Case {
  limit: number
  windowSeconds: number
  buckets: number
  /** Minimum and maximum weight of one request. */
  weight: readonly [min: number, max: number]
  /** Duration of the load, in windows. */
  spans: number
  /** Number of steps per window; all processes run the arrivals of a step concurrently. */
  stepsPerWindow: number
}

const ONE = [1, 1] as const
/** Limits and windows of Unkey's suite, tokens per minute, and RPC credits in 24 hours. */
const CASES: readonly Case[] = [
  { limit: 10, windowSeconds: 10, buckets: 61, weight: ONE, spans: 60, stepsPerWindow: 40 },
  { limit: 20, windowSeconds: 60, buckets: 61, weight: ONE, spans: 40, stepsPerWindow: 40 },
  { limit: 100, windowSeconds: 60, buckets: 61, weight: ONE, spans: 10, stepsPerWindow: 120 },
  { limit: 1_000, windowSeconds: 30, buckets: 61, weight: ONE, spans: 4, stepsPerWindow: 240 },
  { limit: 10_000, windowSeconds: 300, buckets: 61, weight: ONE, spans: 3, stepsPerWindow: 240 },
  { limit: 500_000, windowSeconds: 60, buckets: 61, weight: [100, 4_000], spans: 5, stepsPerWindow: 120 },
  { limit: 10_000_000, windowSeconds: 86_400, buckets: 1_441, weight: [20, 40_000], spans: 3, stepsPerWindow: 240 },
]

/** Rate windows of several processes on one Redis under random arrivals, in simulated time. */
export async function runLimiter({ signal }: Pick<ScenarioOptions, 'signal'>): Promise<Report> {
  const keyPrefix = `bench-${randomUUID()}`
  try {
    return await runAll(keyPrefix, signal)
  } finally {
    await deleteKeys(keyPrefix)
  }
}

async function runAll(keyPrefix: string, signal: AbortSignal): Promise<Report> {
  const rows: Report['rows'] = []
  let leastShare = 1
  let allOver = 0
  for (const processes of PROCESSES) {
    using fleet = await startLimiters(processes, { keyPrefix, signal })
    for (const load of LOADS) {
      const results = []
      for (const one of CASES) results.push(await measure(fleet, { ...one, load, processes }))
      const shares = results.map(({ admitted, permitted }) => admitted / permitted)
      const over = results.reduce((sum, result) => sum + result.over, 0)
      leastShare = Math.min(leastShare, ...shares)
      allOver += over
      rows.push({
        processes,
        load,
        requests: results.reduce((sum, { requests }) => sum + requests, 0),
        'windows over the limit': over,
        'least share admitted %': Math.min(...shares) * 100,
        'mean share admitted %': (shares.reduce((sum, share) => sum + share, 0) / shares.length) * 100,
      })
    }
  }
  return {
    benchmark: 'limiter',
    title: `rate windows of ${CASES.length} kinds shared over one Redis, random arrivals`,
    rows,
    verdicts: [
      judge('windows over the limit', allOver, { atMost: 0 }),
      judge('least share of the permitted that was admitted', leastShare * 100, { atLeast: 98, unit: ' %' }),
    ],
    notes: [
      'Kinds: 10 in 10 s, 20 and 100 in 60 s, 1,000 in 30 s, 10,000 in 300 s, 500,000 tokens in 60 s, 10,000,000 credits in 24 h.',
      'Permitted is what a limiter admits that remembers every single request. A window ends at each booking.',
    ],
  }
}

async function measure(fleet: LimiterFleet, { load, processes, ...one }: Case & { load: number; processes: number }) {
  const { limit, windowSeconds, buckets, stepsPerWindow } = one
  const windowMs = windowSeconds * 1_000
  const arrivals = arrivalsOf(one, load)
  const window = { key: `${randomUUID()}:bench`, limit, windowSeconds, buckets }
  const stepMs = windowMs / stepsPerWindow
  const bookings: Arrival[] = []
  for (let next = 0; next < arrivals.length; ) {
    const endMs = (Math.floor((arrivals[next]?.atMs ?? 0) / stepMs) + 1) * stepMs
    const ofProcesses: Arrival[][] = Array.from({ length: processes }, () => [])
    for (let arrival = arrivals[next]; arrival && arrival.atMs < endMs; arrival = arrivals[++next]) {
      ofProcesses[Math.floor(Math.random() * processes)]?.push(arrival)
    }
    bookings.push(...(await fleet.run(window, ofProcesses)))
  }
  return {
    requests: arrivals.length,
    admitted: bookings.reduce((sum, { weight }) => sum + weight, 0),
    permitted: permittedBy({ limit, windowMs }, arrivals),
    over: windowsOver({ limit, windowMs }, bookings),
  }
}

/** Arrivals of a Poisson process whose mean demand is `load` times the limit. */
function arrivalsOf({ limit, windowSeconds, weight: [min, max], spans }: Case, load: number): Arrival[] {
  const windowMs = windowSeconds * 1_000
  const meanGapMs = (windowMs * (min + max)) / 2 / (limit * load)
  const arrivals: Arrival[] = []
  let atMs = START_MS
  while (atMs < START_MS + spans * windowMs) {
    atMs += -Math.log(1 - Math.random()) * meanGapMs
    arrivals.push({ atMs: Math.floor(atMs), weight: min + Math.floor(Math.random() * (max - min + 1)) })
  }
  return arrivals
}
