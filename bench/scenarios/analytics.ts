import { Client } from 'pg'
import { createPostgresDatabase } from '../../server/db/database.ts'
import { addDays, systemClock, utcDay } from '../../server/domain/clock.ts'
import { UsageQuery } from '../../server/domain/usage/reports/inputs.ts'
import { UsageAnalyticsRepository } from '../../server/domain/usage/reports/usage-analytics-repository.ts'
import { UsageAnalyticsService } from '../../server/domain/usage/reports/usage-analytics-service.ts'
import { UsageRepository } from '../../server/domain/usage/reports/usage-repository.ts'
import { UsageService } from '../../server/domain/usage/reports/usage-service.ts'
import { cpuMsBetween, cpuMsByPid, findProcesses } from '../harness/process-figures.ts'
import { judge, type Report, type Verdict } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { quantileOf } from '../harness/statistics.ts'
import { openUsageDatabase } from '../harness/usage-database.ts'

const WARM_UP_RUNS = 5
const RUNS = 40
const DAYS = 90
const BUDGET_MS = 50

interface Question {
  name: string
  isBudgeted: boolean
  ask: () => Promise<unknown>
}

/**
 * Reports and cubes of 90 days for the largest account, one after the other, bypassing every cache, compared with a
 * trivial query.
 */
export async function runAnalytics({ signal }: Pick<ScenarioOptions, 'signal'>): Promise<Report> {
  await using usage = await openUsageDatabase(DAYS, signal)
  const handle = createPostgresDatabase(usage.url)
  const client = new Client({ connectionString: usage.url })
  await client.connect()
  try {
    const rows: Report['rows'] = []
    const verdicts: Verdict[] = []
    for (const { name, isBudgeted, ask } of questionsOf({ db: handle.db, client, accountId: usage.accountId })) {
      const { latenciesMs: sorted, ...cpu } = await measure(ask, {
        signal,
        findBackends: () => findProcesses(usage.name),
      })
      const p95Ms = quantileOf(sorted, 0.95)
      const latency = { 'p50 ms': quantileOf(sorted, 0.5), 'p95 ms': p95Ms, 'least ms': sorted[0] ?? null }
      rows.push({ question: name, ...latency, ...cpu })
      if (isBudgeted) verdicts.push(judge(`${name}, p95`, p95Ms, { atMost: BUDGET_MS, unit: ' ms' }))
    }
    return {
      benchmark: 'analytics',
      title: `usage of ${DAYS} days of the account with two fifths of ${usage.events.toLocaleString('en-US')} events`,
      rows,
      verdicts,
      notes: [
        'The floor is one look-up by primary key over a connection of its own. No report comes from the cache. CPU is per question.',
      ],
    }
  } finally {
    await client.end()
    await handle.close()
  }
}

interface MeasureOptions {
  signal: AbortSignal
  findBackends: () => number[]
}

async function measure(ask: () => Promise<unknown>, { signal, findBackends }: MeasureOptions) {
  for (let run = 0; run < WARM_UP_RUNS; run++) await ask()
  const latenciesMs: number[] = []
  const databaseBefore = cpuMsByPid(findBackends())
  const cpuBefore = process.cpuUsage()
  for (let run = 0; run < RUNS; run++) {
    signal.throwIfAborted()
    const startMs = performance.now()
    await ask()
    latenciesMs.push(performance.now() - startMs)
  }
  const { user, system } = process.cpuUsage(cpuBefore)
  return {
    latenciesMs: latenciesMs.toSorted((a, b) => a - b),
    'Node CPU ms': (user + system) / 1_000 / RUNS,
    'PostgreSQL CPU ms': cpuMsBetween(databaseBefore, cpuMsByPid(findBackends())) / RUNS,
  }
}

interface Setting {
  db: ReturnType<typeof createPostgresDatabase>['db']
  client: Client
  accountId: string
}

function questionsOf({ db, client, accountId }: Setting): Question[] {
  const clock = systemClock
  const cubes = new UsageService({ usage: new UsageRepository(db), clock, hourlyRetentionDays: DAYS + 10 })
  const to = utcDay(clock.now())
  const from = addDays(to, 1 - DAYS)
  const floor: Question = {
    name: 'floor: one balance',
    isBudgeted: false,
    ask: () => client.query(`select * from balances where account_id = $1 and currency = 'usd'`, [accountId]),
  }
  const report: Question = {
    name: 'report of the public API',
    isBudgeted: true,
    // A new service each time, because each caches its reports for ten minutes.
    ask: () =>
      new UsageAnalyticsService({ analytics: new UsageAnalyticsRepository(db), clock }).report(accountId, {
        lookback: DAYS,
      }),
  }
  const cube = (name: string, isBudgeted: boolean, query: Partial<UsageQuery>): Question => {
    const parsed = UsageQuery.parse({ from, to, ...query })
    const rows = parsed.groupBy.join(' × ') || 'totals'
    return { name: `cube: ${rows}, ${parsed.timeZone}${name}`, isBudgeted, ask: () => cubes.cube(accountId, parsed) }
  }
  return [
    floor,
    report,
    cube('', true, {}),
    cube('', true, { groupBy: ['day'] }),
    cube('', true, { groupBy: ['day', 'api_key'] }),
    cube('', true, { groupBy: ['month', 'sku'] }),
    cube('', true, { groupBy: ['day'], timeZone: 'Europe/Berlin' }),
    cube('', true, { groupBy: ['week'], timeZone: 'America/New_York' }),
    cube('', false, { groupBy: ['day'], timeZone: 'Asia/Kolkata' }),
    cube('', false, { groupBy: ['day', 'sku'] }),
    cube('', false, { groupBy: ['network', 'method'] }),
    cube(', 7 days', false, { groupBy: ['hour'], timeZone: 'Europe/Berlin', from: addDays(to, -6) }),
    cube('', false, { groupBy: ['hour'] }),
    cube('', false, { groupBy: ['api_key', 'sku', 'method'] }),
  ]
}
