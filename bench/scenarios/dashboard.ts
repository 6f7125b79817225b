import { readFile } from 'node:fs/promises'
import { cpuMsBetween, cpuMsByPid, findProcesses } from '../harness/process-figures.ts'
import { judge, type Report } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { startProvider } from '../harness/servers.ts'
import { createKey, startSluice } from '../harness/sluice.ts'
import { quantileOf } from '../harness/statistics.ts'
import { openUsageDatabase } from '../harness/usage-database.ts'

const DAYS = 90
const SHOWN_DAYS = 30
const WARM_UP_RUNS = 50
const RUNS = 200
const DAY_MS = 86_400_000
const QUERY = new URL('../../client/queries/dashboard.graphql', import.meta.url)

/** The first page of the console for the largest account, one after the other, over HTTP. */
export async function runDashboard({ signal }: Pick<ScenarioOptions, 'signal'>): Promise<Report> {
  await using database = await openUsageDatabase(DAYS, signal)
  const until = new Date()
  await using provider = await startProvider()
  await using sluice = await startSluice({ databaseUrl: database.url, provider })
  const key = await createKey(sluice.server, database.accountId)
  const ask = createDashboardClient(`${sluice.server.origin}/graphql`, {
    key,
    query: await readFile(QUERY, 'utf8'),
    until,
  })
  for (let run = 0; run < WARM_UP_RUNS; run++) await ask()
  const pids = [sluice.server.pid]
  const findBackends = () => findProcesses(database.name)
  const [serverBefore, databaseBefore] = [cpuMsByPid(pids), cpuMsByPid(findBackends())]
  const latenciesMs: number[] = []
  for (let run = 0; run < RUNS; run++) {
    signal.throwIfAborted()
    const startMs = performance.now()
    await ask()
    latenciesMs.push(performance.now() - startMs)
  }
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  const p95Ms = quantileOf(sorted, 0.95)
  return {
    benchmark: 'dashboard',
    title: `usage of ${SHOWN_DAYS} days, keys, limits, both logs and a page of the ledger, ${database.events.toLocaleString('en-US')} events in ${DAYS} days`,
    rows: [
      {
        'p50 ms': quantileOf(sorted, 0.5),
        'p95 ms': p95Ms,
        'max ms': sorted.at(-1) ?? Number.NaN,
        'server CPU ms': cpuMsBetween(serverBefore, cpuMsByPid(pids)) / RUNS,
        'PostgreSQL CPU ms': cpuMsBetween(databaseBefore, cpuMsByPid(findBackends())) / RUNS,
      },
    ],
    verdicts: [judge('the whole dashboard, p95', p95Ms, { atMost: 40, unit: ' ms' })],
    notes: ['The account has two fifths of the events. A test counts the SQL statements: at most 8.'],
  }
}

function createDashboardClient(url: string, { key, query, until }: { key: string; query: string; until: Date }) {
  const day = (daysAgo: number) => new Date(until.getTime() - daysAgo * DAY_MS).toISOString().slice(0, 10)
  const body = JSON.stringify({ query, variables: { from: day(SHOWN_DAYS - 1), to: day(0) } })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return async (): Promise<void> => {
    const response = await fetch(url, { method: 'POST', headers, body })
    const answer = (await response.json()) as { errors?: unknown; data?: { viewer: { usage: { rows: unknown[] } } } }
    if (answer.errors === undefined && answer.data?.viewer.usage.rows.length === SHOWN_DAYS) return
    throw new Error(`the dashboard failed: ${JSON.stringify(answer).slice(0, 400)}`)
  }
}
