import type { LoadOutcome, Target } from '../harness/load.ts'
import { judge, type Report } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { startProvider } from '../harness/servers.ts'
import { startSluice } from '../harness/sluice.ts'
import { median, quantileOf } from '../harness/statistics.ts'
import { createTemporaryDatabase } from '../harness/temporary-database.ts'
import { directTarget, sluiceTarget } from './contenders.ts'

const REQUESTS_PER_SECOND = 200
const SECONDS = 10
const CONNECTIONS = 64
const WARM_UP_REQUESTS = 2_000

/** The latency that Sluice adds to a chat completion compared with the provider alone, at a constant arrival rate. */
export async function runLatency({ load, rounds }: ScenarioOptions): Promise<Report> {
  await using provider = await startProvider()
  await using database = await createTemporaryDatabase()
  await using sluice = await startSluice({ databaseUrl: database.url, provider })
  const targets: [string, Target][] = [
    ['direct', directTarget(provider, false)],
    ['sluice', sluiceTarget(sluice, false)],
  ]
  const outcomes = new Map(targets.map(([name]) => [name, [] as LoadOutcome[]]))
  for (const [, target] of targets) await load.run({ target, requests: WARM_UP_REQUESTS, connections: CONNECTIONS })
  for (let round = 0; round < rounds; round++) {
    for (const [name, target] of targets) {
      const outcome = await load.run({
        target,
        requests: REQUESTS_PER_SECOND * SECONDS,
        connections: CONNECTIONS,
        requestsPerSecond: REQUESTS_PER_SECOND,
      })
      outcomes.get(name)?.push(outcome)
    }
  }
  const quantiles = (name: string, quantile: number) =>
    (outcomes.get(name) ?? []).map(({ latenciesMs }) => quantileOf(latenciesMs, quantile))
  const added = (quantile: number) => {
    const direct = quantiles('direct', quantile)
    return median(quantiles('sluice', quantile).map((ms, round) => ms - (direct[round] ?? Number.NaN)))
  }
  return {
    benchmark: 'latency',
    title: `chat completion at ${REQUESTS_PER_SECOND} requests a second, ${rounds} rounds of ${SECONDS} s`,
    rows: targets.map(([name]) => ({
      server: name,
      'p50 ms': median(quantiles(name, 0.5)),
      'p90 ms': median(quantiles(name, 0.9)),
      'p99 ms': median(quantiles(name, 0.99)),
      'worst ms': Math.max(...quantiles(name, 1)),
    })),
    verdicts: [
      judge('added at p50', added(0.5), { atMost: 4, unit: ' ms' }),
      judge('added at p99', added(0.99), { atMost: 15, unit: ' ms' }),
    ],
    notes: [
      'Open loop: a request leaves when it is due, whether or not earlier ones are answered, and its time counts from then.',
      `PostgreSQL: ${database.settings}`,
    ],
  }
}
