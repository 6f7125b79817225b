import { createPostgresDatabase } from '../../server/db/database.ts'
import { migrateToLatest } from '../../server/db/migrate.ts'
import type { KeyCaller } from '../../server/domain/caller.ts'
import { systemClock } from '../../server/domain/clock.ts'
import { createMoneyHarness, type MoneyHarness } from '../../test/support/money-harness.ts'
import { runPairs } from '../harness/money-pairs.ts'
import { cpuMsBetween, cpuMsByPid, findProcesses } from '../harness/process-figures.ts'
import { judge, type Report } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { quantileOf } from '../harness/statistics.ts'
import { createTemporaryDatabase } from '../harness/temporary-database.ts'

const ACCOUNTS = 1_000
const IN_FLIGHT = [1, 16, 64, 256] as const
const SECONDS = 4
const WARM_UP_SECONDS = 2
const BALANCE_NANO_USD = 1_000_000_000_000_000n

/** Admits and settles in this process, without HTTP and upstream, to measure the money path alone. */
export async function runMoney({ signal }: Pick<ScenarioOptions, 'signal'>): Promise<Report> {
  await using database = await createTemporaryDatabase()
  const { db, close } = createPostgresDatabase(database.url)
  try {
    await migrateToLatest(db)
    const harness = createMoneyHarness(db, systemClock)
    await harness.sweeper.start()
    const callers: KeyCaller[] = []
    for (let index = 0; index < ACCOUNTS; index++) callers.push(await harness.addCaller({ usdNano: BALANCE_NANO_USD }))
    const findBackends = () => findProcesses(database.name)
    const rows = []
    const pools: [string, KeyCaller[]][] = [
      ['one hot account', callers.slice(0, 1)],
      [`${ACCOUNTS.toLocaleString('en-US')} accounts`, callers],
    ]
    for (const [accounts, among] of pools) {
      for (const inFlight of IN_FLIGHT) {
        signal.throwIfAborted()
        await runPairs(harness, { callers: among, inFlight, seconds: WARM_UP_SECONDS })
        rows.push({ accounts, ...(await measurePairs(harness, { callers: among, inFlight, findBackends })) })
      }
    }
    await harness.metering.drained()
    const verification = await harness.ledger.verify()
    await harness.sweeper.stop()
    const hot = rows.find((row) => row.accounts === 'one hot account' && row['in flight'] === 256)
    return {
      benchmark: 'money',
      title: `admit + settle without HTTP, PostgreSQL (${database.settings})`,
      rows,
      verdicts: [
        judge('one hot account, 256 in flight', hot?.['pairs/s'] ?? 0, { atLeast: 10_000, unit: '/s' }),
        judge('verify found faults in', verification.checks.filter((check) => !check.ok).length, {
          atMost: 0,
          unit: ' invariants',
        }),
      ],
      notes: ['A pair is one admission and one settlement, each durable. CPU is per pair.'],
    }
  } finally {
    await close()
  }
}

interface MeasureOptions {
  callers: readonly KeyCaller[]
  inFlight: number
  findBackends: () => number[]
}

async function measurePairs(harness: MoneyHarness, { callers, inFlight, findBackends }: MeasureOptions) {
  const databaseBefore = cpuMsByPid(findBackends())
  const cpuBefore = process.cpuUsage()
  const startMs = performance.now()
  const latenciesMs = (await runPairs(harness, { callers, inFlight, seconds: SECONDS })).toSorted((a, b) => a - b)
  const seconds = (performance.now() - startMs) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  const databaseCpuMs = cpuMsBetween(databaseBefore, cpuMsByPid(findBackends()))
  return {
    'in flight': inFlight,
    'pairs/s': Math.round(latenciesMs.length / seconds),
    'p50 ms': quantileOf(latenciesMs, 0.5),
    'p99 ms': quantileOf(latenciesMs, 0.99),
    'Node CPU µs': (user + system) / latenciesMs.length,
    'PostgreSQL CPU µs': (databaseCpuMs * 1_000) / latenciesMs.length,
  }
}
